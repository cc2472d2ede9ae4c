"""One decision as tokens: a prefix that ends with the state, and a suffix that asks for one letter."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass

from decision_adapter.caller_text import CallerText
from decision_adapter.chat_template import Frame, render_frame
from decision_adapter.decision import MAX_OPTIONS, Decision, JsonValue, Option
from decision_adapter.errors import ModelRefused, RequestRefused
from decision_adapter.llama import Model
from decision_adapter.profile import Profile
from decision_adapter.slots import Slot, Slots, prove_slots


@dataclass(frozen=True)
class Prefix:
    """The head of the prompt and the state: what all decisions about it share."""

    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True)
class Prompt:
    """A whole prompt. Its suffix tokens never depend on its prefix, nor on other decisions.

    `slots` are what its options are called, in their order;
    `sha256` is of the UTF-8 text of the rendered prompt, from the template's first character to the generation prompt.
    """

    prefix: Prefix
    suffix: tuple[int, ...]
    slots: tuple[Slot, ...]
    sha256: str

    @property
    def n_tokens(self) -> int:
        """Tokens of the whole prompt."""
        return len(self.prefix.tokens) + len(self.suffix)


class PromptWriter:
    """Writes prompts for one model in one profile's words.

    The model's chat template is rendered once, here, around a placeholder. Its parts are tokenized with special parsing
    on; the user message, the profile's words included, is tokenized as text. So no text of a caller ever passes through
    the template or becomes a special token.

    Parameters
    ----------
    model:
        The loaded model.
    profile:
        The prompt's words.
    max_tokens:
        The limit of one prompt; only texts far above it are refused here (`TextTooLong`).
    max_options:
        The most options a decision may have; the model's slots may allow fewer. Default: as many as there are slots.

    Raises
    ------
    ModelRefused
        If the model has no chat template, or one that cannot be used, or no usable answer slots.
    """

    def __init__(self, model: Model, profile: Profile, *, max_tokens: int, max_options: int = MAX_OPTIONS) -> None:
        template = model.chat_template
        if template is None:
            raise ModelRefused(f"{model.path} has no chat template: package a chat model whose GGUF holds one")
        vocab = model.vocab
        self._profile = profile
        self._max_options = max_options
        self._frame: Frame = render_frame(
            template,
            system=profile.system,
            bos=vocab.token_or_none(vocab.bos) or "",
            eos=vocab.token_or_none(vocab.eos) or "",
        )
        self._lead = f"{profile.system}\n\n" if self._frame.system_in_user and profile.system else ""
        head = vocab.tokenize(self._frame.head, parse_special=True)
        # Some templates write the token that begins a sequence themselves.
        self._bos = [vocab.bos] if vocab.add_bos and vocab.bos >= 0 and head[:1] != [vocab.bos] else []
        self._head = [*self._bos, *head]
        self._tail = vocab.tokenize(self._frame.tail, parse_special=True)
        self._caller_text = CallerText(vocab, max_tokens=max_tokens)
        self.slots: Slots = prove_slots(vocab, self._frame.tail)

    def prefix(self, state: JsonValue) -> Prefix:
        """The prefix of every decision about `state`; structured states are written as compact JSON.

        Raises
        ------
        RequestRefused
            If the state cannot be written as text.
        """
        text = self._lead + self._profile.prefix_text(as_text(state, what="state"))
        return Prefix(self._frame.head + text, (*self._head, *self._caller_text.tokenize(text, what="state")))

    def prompt(self, prefix: Prefix, decision: Decision) -> Prompt:
        """The whole prompt of one decision.

        Raises
        ------
        TooManyOptions
            If the decision has more options than there are slots for.
        RequestRefused
            If a text of the decision cannot be written.
        """
        slots = self.slots.first(len(decision.options), decision_id=decision.id, limit=self._max_options)
        text = self._profile.suffix_text(
            self._question(decision), self._options(decision.options, slots), codes=len(slots[-1].text) > 1
        )
        what = f"question with its options of decision {decision.id!r}"
        suffix = (*self._caller_text.tokenize(text, what=what), *self._tail)
        sha256 = hashlib.sha256((prefix.text + text + self._frame.tail).encode()).hexdigest()
        return Prompt(prefix, suffix, slots, sha256)

    def _question(self, decision: Decision) -> str:
        if not decision.question:
            return self._profile.default_question(decision.kind)
        return as_text(decision.question, what=f"question of decision {decision.id!r}")

    def _options(self, options: tuple[Option, ...], slots: tuple[Slot, ...]) -> str:
        lines = (
            self._profile.option_text(
                slot.text, option.id, as_text(option.description, what=f"description of option {option.id!r}")
            )
            for slot, option in zip(slots, options, strict=True)
        )
        return "\n".join(lines)


def as_text(value: JsonValue, *, what: str) -> str:
    """A state or a description as the model reads it: text as it is, null as nothing, all else as compact JSON.

    >>> as_text({"b": [1, True], "a": "é"}, what="state")
    '{"b":[1,true],"a":"é"}'
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (ValueError, TypeError) as error:
        raise RequestRefused(f"the {what} cannot be written as JSON: {error}") from error
    except RecursionError as error:
        raise RequestRefused(f"the {what} is nested too deeply to be written as JSON") from error
