"""What is asked in System One: named questions of three kinds about one state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decision_client.decisions import JsonValue, encode


@dataclass(frozen=True)
class NoulQuestion:
    """Whether something is true.

    Parameters
    ----------
    instructions:
        What may be true: text, or an object or array of JSON values. Needed unless an outcome is described.
    true, false:
        What counts as true, and what as false. Default: the instructions say it all.
    """

    instructions: JsonValue = None
    true: JsonValue = None
    false: JsonValue = None

    def to_json(self) -> dict[str, JsonValue]:
        """The question as it stands in a request."""
        described = {name: value for name, value in (("true", self.true), ("false", self.false)) if value is not None}
        return _question("noul", self.instructions, described or None)


@dataclass(frozen=True)
class ChoiceQuestion:
    """Which of some names fits.

    Parameters
    ----------
    criteria:
        The names, 1 to 255, each with what it stands for, or None for a name that says it all. Their order is kept.
    instructions:
        What is asked. Default: words of the endpoint's own.
    """

    criteria: Mapping[str, JsonValue]
    instructions: JsonValue = None

    def to_json(self) -> dict[str, JsonValue]:
        """The question as it stands in a request."""
        return _question("choice", self.instructions, dict(self.criteria))


@dataclass(frozen=True)
class ScoreQuestion:
    """Which of some levels fits.

    Parameters
    ----------
    levels:
        What each level stands for, 2 to 10 of them, the lowest first.
    instructions:
        What is asked. Default: words of the endpoint's own.
    """

    levels: Sequence[JsonValue]
    instructions: JsonValue = None

    def to_json(self) -> dict[str, JsonValue]:
        """The question as it stands in a request."""
        return _question("score", self.instructions, list(self.levels))


Question = NoulQuestion | ChoiceQuestion | ScoreQuestion


def request_for_questions(state: JsonValue, questions: Mapping[str, Question], *, permutations: int = 1) -> bytes:
    """The body that asks questions about one state.

    >>> request_for_questions("It rains.", {"umbrella": NoulQuestion("Take one?")})
    b'{"state":"It rains.","questions":{"umbrella":{"type":"noul","instructions":"Take one?"}}}'
    """
    asked: dict[str, JsonValue] = {name: question.to_json() for name, question in questions.items()}
    averaged: dict[str, JsonValue] = {} if permutations == 1 else {"x_permutations": permutations}
    return encode({"state": state, "questions": asked, **averaged})


def _question(kind: str, instructions: JsonValue, criteria: JsonValue) -> dict[str, JsonValue]:
    optional: dict[str, JsonValue] = {"instructions": instructions, "criteria": criteria}
    return {"type": kind, **{name: value for name, value in optional.items() if value is not None}}
