"""The one shape every wire contract is read into, and the one every answer is written from."""

from __future__ import annotations

from dataclasses import dataclass

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True)
class Option:
    """One answer a decision may have. The model reads both fields; `id` goes back to the caller byte for byte."""

    id: str
    description: JsonValue


@dataclass(frozen=True)
class Decision:
    """One question about a state, with its options in the caller's order."""

    id: str
    question: str
    options: tuple[Option, ...]


@dataclass(frozen=True)
class DecisionRequest:
    """Decisions that share one state, which is why they share one prefix."""

    state: JsonValue
    decisions: tuple[Decision, ...]


@dataclass(frozen=True)
class Score:
    """What the final logits say of one decision; every tuple is in the order of its options.

    `slot_mass` is the share (0–1) of the whole vocabulary's probability that fell on the options' slots; `input_tokens`
    counts the whole prompt, prefix included; `seconds` is the time its suffix took.
    """

    decision_id: str
    probabilities: tuple[float, ...]
    logits: tuple[float, ...]
    slot_token_ids: tuple[int, ...]
    slot_mass: float
    argmax_token_id: int
    input_tokens: int
    prompt_sha256: str
    seconds: float


@dataclass(frozen=True)
class ScoredRequest:
    """The scores of one request, in order, and their cost. `cached_tokens` of the prefix were not evaluated again."""

    scores: tuple[Score, ...]
    prefix_tokens: int
    cached_tokens: int
    prefix_seconds: float
    suffix_seconds: float


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
