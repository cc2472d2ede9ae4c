"""The one shape every wire contract is read into, and the one every answer is written from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

# What System One allows; no contract lets more through.
MAX_OPTIONS = 255

Kind = Literal["choice", "score", "noul"]
"""A choice among names, a score on ordered levels, or whether something is true."""


@dataclass(frozen=True)
class Option:
    """One answer a decision may have. The model reads both fields; `id` goes back to the caller byte for byte."""

    id: str
    description: JsonValue


@dataclass(frozen=True)
class Decision:
    """One question about a state, with its options in the caller's order.

    The `id` is not part of the prompt. An empty `question` is asked in the profile's own words for its kind.
    """

    id: str
    question: JsonValue
    options: tuple[Option, ...]
    kind: Kind = "choice"


@dataclass(frozen=True)
class DecisionRequest:
    """Decisions that share one state, which is why they share one prefix.

    Each is asked with its options in `permutations` different orders, as far as it has so many options.
    """

    state: JsonValue
    decisions: tuple[Decision, ...]
    permutations: int = 1


@dataclass(frozen=True)
class Score:
    """What the final logits say of one decision; every tuple is in the order of its options.

    `probabilities` are the means over the orders in which the options were shown, at `temperature`; `slot_mass` is the
    mean share (0–1) of the whole vocabulary's probability that fell on the options' slots. `logits`, `slot_token_ids`,
    `argmax_token_id` and `prompt_sha256` are of the caller's own order, and `input_tokens` counts its whole prompt,
    prefix included. `suffix_tokens` were evaluated after the prefix and `seconds` spent on them, in all orders.
    """

    decision_id: str
    probabilities: tuple[float, ...]
    logits: tuple[float, ...]
    slot_token_ids: tuple[int, ...]
    slot_mass: float
    argmax_token_id: int
    input_tokens: int
    suffix_tokens: int
    prompt_sha256: str
    seconds: float
    permutations: int = 1
    temperature: float = 1.0


@dataclass(frozen=True)
class ScoredRequest:
    """The scores of one request, in order, and their cost. `cached_tokens` of the prefix were not evaluated again."""

    scores: tuple[Score, ...]
    prefix_tokens: int
    cached_tokens: int
    prefix_seconds: float
    suffix_seconds: float

    @property
    def input_tokens(self) -> int:
        """What was asked, in tokens: the shared prefix once, and what each decision adds to it."""
        return self.prefix_tokens + sum(score.suffix_tokens for score in self.scores)


@dataclass(frozen=True)
class ModelIdentity:
    """What answers: the model's bytes, the engine that evaluates it and the settings that shape its numbers."""

    name: str
    file: str
    bytes: int
    sha256: str
    architecture: str
    engine: str
    backend: str
    device: str
    threads: int
    context_tokens: int
    gpu_layers: int
    prompt_profile: str
    prompt_version: str
