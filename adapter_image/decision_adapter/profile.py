"""The prompt's own words, versioned: scores of two profiles are not comparable, so each answer says which it used."""

from __future__ import annotations

import string
from dataclasses import dataclass
from pathlib import Path

import msgspec

from decision_adapter.decision import Kind
from decision_adapter.errors import ModelRefused


class Profile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The words around a decision.

    Parameters
    ----------
    name, version:
        What answers and log lines call it. Change the version with the words.
    system:
        The system message; empty for none. A model without system messages gets it at the head of the user message.
    user:
        The user message, with ``{state}``, ``{question}`` and ``{options}`` once each and ``{state}`` first, because
        everything up to the state's end is evaluated once for all decisions about it. ``{{`` and ``}}`` are braces.
    option:
        One option, with ``{letter}``, ``{id}`` and ``{description}`` at most once each, ``{letter}`` among them.
    bare_option:
        One option without a description (null or empty), with ``{letter}`` and ``{id}``.
    user_codes:
        What `user` is where options have codes of two letters, because there are more than letters; the same up to the
        state. Empty for no other.
    choice_question, score_question, noul_question:
        What is asked in place of a question that its caller left out.

    Examples
    --------
    >>> DEFAULT_PROFILE.prefix_text("The door is open.")
    'State:\\nThe door is open.'
    >>> print(DEFAULT_PROFILE.option_text("A", "shut", "Close the door."))
    A. shut: Close the door.
    """

    name: str
    version: str
    system: str
    user: str
    option: str
    bare_option: str
    user_codes: str = ""
    choice_question: str = "Which option fits best?"
    score_question: str = "Which level fits best?"
    noul_question: str = "Which of these is true?"

    def prefix_text(self, state: str) -> str:
        """The user message up to and with the state."""
        before, _ = _around_state(self.user)
        return _fill(before) + state

    def suffix_text(self, question: str, options: str, *, codes: bool = False) -> str:
        """The user message after the state; `codes` says that options are called by two letters."""
        _, after = _around_state(self.user_codes if codes and self.user_codes else self.user)
        return _fill(after, question=question, options=options)

    def default_question(self, kind: Kind) -> str:
        """What is asked where the caller asked nothing."""
        return {"choice": self.choice_question, "score": self.score_question, "noul": self.noul_question}[kind]

    def option_text(self, letter: str, option_id: str, description: str) -> str:
        """One option as the model reads it."""
        if description:
            return _fill(_parts(self.option), letter=letter, id=option_id, description=description)
        return _fill(_parts(self.bare_option), letter=letter, id=option_id)


_Part = tuple[str, str | None]
"""Literal text, and the name of the placeholder behind it, if any."""


def _parts(text: str) -> list[_Part]:
    return [(literal, name) for literal, name, _, _ in string.Formatter().parse(text)]


def _around_state(user: str) -> tuple[list[_Part], list[_Part]]:
    parts = _parts(user)
    at = next(index for index, (_, name) in enumerate(parts) if name == "state")
    return [*parts[:at], (parts[at][0], None)], parts[at + 1 :]


def _fill(parts: list[_Part], **values: str) -> str:
    return "".join(literal + (values[name] if name is not None else "") for literal, name in parts)


DEFAULT_PROFILE = Profile(
    name="plain",
    version="1",
    system="Answer the question about the state with the letter of the best option only.",
    user="State:\n{state}\n\nQuestion: {question}\n{options}\n\nAnswer with one letter.",
    option="{letter}. {id}: {description}",
    bare_option="{letter}. {id}",
    user_codes="State:\n{state}\n\nQuestion: {question}\n{options}\n\nAnswer with the two letters of one option.",
)


@dataclass(frozen=True)
class _Pattern:
    """Which placeholders a text of the profile must and may have."""

    required: tuple[str, ...]
    optional: tuple[str, ...] = ()


_PATTERNS = {
    "user": _Pattern(("state", "question", "options")),
    "option": _Pattern(("letter",), ("id", "description")),
    "bare_option": _Pattern(("letter",), ("id",)),
}


def load_profile(path: Path | None) -> Profile:
    """Read a profile from a JSON file with the fields of `Profile`; None gives the built-in one.

    Raises
    ------
    ModelRefused
        If the file cannot be read or is no profile: the process must not serve other words than it was told.
    """
    if path is None:
        return DEFAULT_PROFILE
    try:
        profile = msgspec.json.decode(path.read_bytes(), type=Profile)
    except OSError as error:
        raise ModelRefused(f"the profile {path} cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelRefused(f"the profile {path} is no profile: {error}; its fields are {_fields()}") from error
    problems = [problem for field, pattern in _PATTERNS.items() if (problem := _problem(profile, field, pattern))]
    if profile.user_codes and not problems:
        problems += [problem for problem in (_codes_problem(profile),) if problem]
    problems += [f"{field} is empty" for field in ("name", "version") if not getattr(profile, field).strip()]
    if problems:
        raise ModelRefused(f"the profile {path} cannot be used: {'; '.join(problems)}")
    return profile


def _codes_problem(profile: Profile) -> str | None:
    problem = _problem(profile, "user_codes", _PATTERNS["user"])
    if problem is None and _around_state(profile.user_codes)[0] != _around_state(profile.user)[0]:
        return "user_codes must be the same as user up to {state}, which is evaluated once for both"
    return problem


def _fields() -> str:
    return ", ".join(field.name for field in msgspec.structs.fields(Profile))


def _problem(profile: Profile, field: str, pattern: _Pattern) -> str | None:
    try:
        parts = list(string.Formatter().parse(getattr(profile, field)))
    except ValueError as error:
        return f"{field}: {error}; write {{{{ and }}}} for braces"
    found = [name for _, name, _, _ in parts if name is not None]
    allowed = [*pattern.required, *pattern.optional]
    wanted = ", ".join(f"{{{name}}}" for name in allowed)
    plain = all(not specification and not conversion for _, _, specification, conversion in parts)
    if not plain or set(found) - set(allowed) or set(pattern.required) - set(found) or len(found) != len(set(found)):
        return f"{field} has the placeholders {found}, it takes {wanted}, each once and without a format"
    if pattern is _PATTERNS["user"] and found[0] != "state":
        return (
            f"{field} must have {{state}} before {{question}} and {{options}}, "
            "for the state is evaluated once for all of them"
        )
    return None
