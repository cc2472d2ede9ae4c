"""Answer slots: the tokens whose logits are an option's score, and how they are read."""

from __future__ import annotations

import math
import string
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from decision_adapter.errors import EngineFailed, ModelRefused, RequestRefused
from decision_adapter.llama import Vocab

LETTERS = string.ascii_uppercase

# exp(±500) is far from the ends of a double's range (±709), with room for a sum.
_ORDINARY = 500.0


@dataclass(frozen=True)
class Slots:
    """Letters the model can answer with, each with the one token it answers with, in alphabetical order."""

    letters: tuple[str, ...]
    token_ids: tuple[int, ...]

    def first(self, count: int, *, decision_id: str, limit: int) -> tuple[int, ...]:
        """The token ids of the slots of `count` options.

        Raises
        ------
        RequestRefused
            If there are none, or more than `limit` and the model's slots allow.
        """
        limit = min(limit, len(self.letters))
        if not 1 <= count <= limit:
            raise RequestRefused(f"decision {decision_id!r} has {count} options, the limit is {limit}")
        return self.token_ids[:count]


def prove_slots(vocab: Vocab, tail: str) -> Slots:
    """The letters A to Z that are slots after `tail`, the prompt's last characters.

    A letter is one if it adds exactly one token of ordinary text to the tail, leaves the tail's own tokens as they were
    (it does not merge with what precedes it), and no other letter adds the same token.

    Raises
    ------
    ModelRefused
        If fewer than two letters are.
    """
    before = vocab.tokenize(tail, parse_special=True)
    added: dict[str, int] = {}
    for letter in LETTERS:
        tokens = vocab.tokenize(tail + letter, parse_special=True)
        if tokens[:-1] == before and tokens[-1] not in vocab.special_tokens:
            added[letter] = tokens[-1]
    shared = {token for token in added.values() if list(added.values()).count(token) > 1}
    usable = {letter: token for letter, token in added.items() if token not in shared}
    if len(usable) < 2:
        raise ModelRefused(
            f"only {len(usable)} of the letters A to Z are single tokens after the model's chat template, "
            f"which ends with {tail[-20:]!r}; two options need two: package another model"
        )
    return Slots(tuple(usable), tuple(usable.values()))


@dataclass(frozen=True)
class Reading:
    """What the logits of a prompt's last token say of its slots, in their order."""

    probabilities: tuple[float, ...]
    logits: tuple[float, ...]
    slot_mass: float
    argmax_token_id: int


def read_slots(logits: array[float], token_ids: Sequence[int]) -> Reading:
    """Softmax over the slots, and the share of the whole vocabulary's probability that they hold.

    Parameters
    ----------
    logits:
        One for each token of the vocabulary.
    token_ids:
        The slots, at least one.

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
    weights = [math.exp(slot - best) for slot in slots]
    share = math.fsum(weights)
    return Reading(
        probabilities=tuple(weight / share for weight in weights),
        logits=tuple(slots),
        slot_mass=min(1.0, share * math.exp(best - shift) / total),
        argmax_token_id=values.index(top),
    )
