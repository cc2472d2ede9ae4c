"""The model's own chat template, rendered once when the model loads and never with a caller's text."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from decision_adapter.errors import ModelRefused

# What stands for the user message while the template is rendered. A template that escapes, folds or quotes text would
# change these characters, and then it could not be told where a caller's text goes.
_PLACE = 'Px7kQ2v "user\'s" \\ <b>&amp;</b>\n\n\t{{ é }} 9dWn4'

# A template that prints today's date would give the same decision other scores tomorrow.
_TODAY = datetime.datetime(2025, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True)
class Frame:
    """What the template puts around the text of the one user message.

    `head` ends where the user message begins; `tail` is everything after it, generation prompt included.
    `system_in_user` says that the template has no place for a system message: its text then leads the user message.
    """

    head: str
    tail: str
    system_in_user: bool


class _TemplateError(Exception):
    """The template called `raise_exception`."""


def render_frame(template: str, *, system: str, bos: str, eos: str) -> Frame:
    """Render `template` with a system and a user message, thinking off, generation prompt added.

    Parameters
    ----------
    template:
        Jinja text of the model's `tokenizer.chat_template`.
    system:
        Text of the system message; empty for none.
    bos, eos:
        Texts of the model's tokens of these names, empty where it has none.

    Raises
    ------
    ModelRefused
        If the template cannot be rendered, changes or repeats a message, or opens a thought that cannot be turned off.
    """
    try:
        compiled = _environment().from_string(template)
    except jinja2.TemplateError as error:
        raise ModelRefused(f"the model's chat template cannot be read: {error}") from error
    reasons: list[str] = []
    for system_in_user, messages in _ways_to_ask(system):
        try:
            text = compiled.render(
                messages=messages,
                add_generation_prompt=True,
                enable_thinking=False,
                thinking=False,
                bos_token=bos,
                eos_token=eos,
            )
        except Exception as error:  # noqa: BLE001  a template is a program: anything may go wrong in it
            reasons.append(f"{type(error).__name__}: {error}")
            continue
        reason = _reason_against(text, "" if system_in_user else system)
        if reason is None:
            head, _, tail = text.partition(_PLACE)
            return Frame(head, tail, system_in_user)
        reasons.append(reason)
    raise ModelRefused(f"the model's chat template cannot be used: {reasons[0]}; package a model with another template")


def _ways_to_ask(system: str) -> Iterator[tuple[bool, list[dict[str, Any]]]]:
    """Messages, the preferred first: some templates refuse or drop a system message, some take only typed parts."""

    def as_parts(text: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": text}]

    contents: tuple[Callable[[str], Any], ...] = (str, as_parts)
    if system:
        for content in contents:
            yield False, [{"role": "system", "content": content(system)}, {"role": "user", "content": content(_PLACE)}]
    for content in contents:
        yield True, [{"role": "user", "content": content(_PLACE)}]


def _reason_against(text: str, system: str) -> str | None:
    if text.count(_PLACE) != 1:
        return f"it shows the user message {text.count(_PLACE)} times instead of once"
    head, _, tail = text.partition(_PLACE)
    if system and head.count(system.strip()) != 1:
        return f"it shows the system message {head.count(system.strip())} times before the user message instead of once"
    if not tail.strip():
        return "it adds nothing after the user message that would ask for an answer"
    if tail.rstrip().endswith(("<think>", "<thinking>", "[THINK]")):
        return "it opens a thought before the answer, even with enable_thinking=False"
    return None


def _environment() -> ImmutableSandboxedEnvironment:
    """Jinja as Hugging Face's tokenizers set it up for chat templates; in a sandbox, for it came with the weights."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"], autoescape=False
    )
    environment.globals["raise_exception"] = _raise_exception
    environment.globals["strftime_now"] = _TODAY.strftime
    environment.filters["tojson"] = _to_json
    return environment


def _raise_exception(message: str) -> NoReturn:
    raise _TemplateError(message)


def _to_json(value: Mapping[str, Any] | list[Any] | str | float | None, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)
