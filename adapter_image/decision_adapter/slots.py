"""Answer slots: the tokens whose logits are an option's score, and how they are read."""

from __future__ import annotations

import itertools
import math
import string
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from decision_adapter.errors import EngineFailed, ModelRefused, TooManyOptions
from decision_adapter.llama import Vocab

LETTERS = tuple(string.ascii_uppercase)
CODES = tuple(map("".join, itertools.product(LETTERS, repeat=2)))

# exp(±500) is far from the ends of a double's range (±709), with room for a sum.
_ORDINARY = 500.0


@dataclass(frozen=True)
class Slot:
    """What an option is called in the prompt, and the one token the model names it with."""

    text: str
    token_id: int


@dataclass(frozen=True)
class Slots:
    """What a model can answer with: single `letters`, and `codes` of two letters, both in alphabetical order."""

    letters: tuple[Slot, ...]
    codes: tuple[Slot, ...] = ()

    def first(self, count: int, *, decision_id: str, limit: int) -> tuple[Slot, ...]:
        """The slots of `count` options.

        Letters if there are enough, else codes alone, for a model prefers letters to codes whatever they stand for;
        both only where neither are enough.

        Raises
        ------
        TooManyOptions
            If there are none, or more than `limit` and the model's slots allow.
        """
        limit = min(limit, len(self.letters) + len(self.codes))
        if not 1 <= count <= limit:
            raise TooManyOptions(decision_id, count, limit)
        for enough in (self.letters, self.codes):
            if count <= len(enough):
                return enough[:count]
        return (*self.letters, *self.codes)[:count]


def prove_slots(vocab: Vocab, tail: str) -> Slots:
    """The letters A to Z and the codes AA to ZZ that are slots after `tail`, the prompt's last characters.

    One is a slot if it adds exactly one token of ordinary text to the tail, leaves the tail's own tokens as they were
    (it does not merge with what precedes it), and no other adds the same token.

    Raises
    ------
    ModelRefused
        If fewer than two letters are.
    """
    before = vocab.tokenize(tail, parse_special=True)

    def added(texts: Iterable[str]) -> list[Slot]:
        tokens = {text: vocab.tokenize(tail + text, parse_special=True) for text in texts}
        return [Slot(text, those[-1]) for text, those in tokens.items() if those[:-1] == before]

    found = [slot for slot in added((*LETTERS, *CODES)) if slot.token_id not in vocab.special_tokens]
    uses = Counter(slot.token_id for slot in found)
    usable = [slot for slot in found if uses[slot.token_id] == 1]
    letters = tuple(slot for slot in usable if len(slot.text) == 1)
    if len(letters) < 2:
        raise ModelRefused(
            f"only {len(letters)} of the letters A to Z are single tokens after the model's chat template, "
            f"which ends with {tail[-20:]!r}; two options need two: package another model"
        )
    return Slots(letters, tuple(slot for slot in usable if len(slot.text) == 2))


@dataclass(frozen=True)
class Reading:
    """What the logits of a prompt's last token say of its slots, in their order."""

    probabilities: tuple[float, ...]
    logits: tuple[float, ...]
    slot_mass: float
    argmax_token_id: int


def read_slots(logits: array[float], token_ids: Sequence[int], *, temperature: float = 1.0) -> Reading:
    """Softmax over the slots, and the share of the whole vocabulary's probability that they hold.

    Parameters
    ----------
    logits:
        One for each token of the vocabulary.
    token_ids:
        The slots, at least one.
    temperature:
        Divides the slots' logits before the softmax; above 0. The share is of the model's own distribution.

    Raises
    ------
    EngineFailed
        If a logit is NaN or +inf, or one of a slot is not finite.

    Examples
    --------
    >>> from array import array
    >>> reading = read_slots(array("f", [1.0, 1.0, -50.0]), [0, 1])
    >>> reading.probabilities, round(reading.slot_mass, 6)
    ((0.5, 0.5), 1.0)
    """
    values = logits.tolist()
    slots = [values[token] for token in token_ids]
    top = max(values)
    if not all(map(math.isfinite, slots)) or not math.isfinite(top):
        raise EngineFailed(f"the model's logits are not numbers: slots {slots}, largest {top}")
    # exp() of logits of ordinary size neither overflows nor loses anything, and saves a pass that subtracts: a third of
    # the time, with a vocabulary of up to 250,000 tokens.
    shift = 0.0 if abs(top) < _ORDINARY else top
    total = sum(map(math.exp, [value - shift for value in values] if shift else values))
    if math.isnan(total):
        raise EngineFailed("the model's logits hold NaN outside the slots")
    best = max(slots)
    share = math.fsum(math.exp(slot - best) for slot in slots)
    weights = [math.exp((slot - best) / temperature) for slot in slots]
    weight_of_all = math.fsum(weights)
    return Reading(
        probabilities=tuple(weight / weight_of_all for weight in weights),
        logits=tuple(slots),
        slot_mass=min(1.0, share * math.exp(best - shift) / total),
        argmax_token_id=values.index(top),
    )
