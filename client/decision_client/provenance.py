"""Where an answer comes from, as every answer of the adapter says in `x_provenance`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from decision_client.reading import Part


@dataclass(frozen=True)
class ModelIdentity:
    """The model that answered: its file, its size in bytes, the SHA-256 of its package, and its other settings."""

    file: str
    bytes: int
    sha256: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class AnswerOrigin:
    """What belongs to one answer.

    `slot_mass` (0–1) is the share of the model's whole probability that fell on any of the options: where it is low,
    the model wanted to say something else. `input_tokens` counts the whole prompt, `permutations` the orders of the
    options that were averaged; `prompt_sha256` is of the prompt with the options in the caller's order.
    """

    slot_mass: float
    input_tokens: int
    permutations: int
    temperature: float
    probability_status: str
    prompt_sha256: str


@dataclass(frozen=True)
class Provenance:
    """What answered, and at what cost.

    `engine` is llama.cpp's build with its device and threads. Answers of two `prompt_version` are not comparable.
    `cached_tokens` of the state's `prefix_tokens` were not evaluated again. `answers` is by the names of the request.
    """

    model: ModelIdentity
    engine: Mapping[str, Any]
    prompt_profile: str
    prompt_version: str
    queue_ms: float
    prefix_ms: float
    suffix_ms: float
    total_ms: float
    prefix_tokens: int
    cached_tokens: int
    answers: Mapping[str, AnswerOrigin]


def read_model(part: Part) -> ModelIdentity:
    """Read the model of an answer."""
    rest = {name: value.value for name, value in part.fields() if name not in ("file", "bytes", "sha256")}
    return ModelIdentity(part["file"].text(), part["bytes"].count(), part["sha256"].text(), rest)


def read_provenance(part: Part) -> Provenance:
    """Read `x_provenance`."""
    prompt, timing, tokens = part["prompt"], part["timing"], part["tokens"]
    return Provenance(
        model=read_model(part["model"]),
        engine={name: value.value for name, value in part["engine"].fields()},
        prompt_profile=prompt["profile"].text(),
        prompt_version=prompt["version"].text(),
        queue_ms=timing["queue_ms"].number(),
        prefix_ms=timing["prefix_ms"].number(),
        suffix_ms=timing["suffix_ms"].number(),
        total_ms=timing["total_ms"].number(),
        prefix_tokens=tokens["prefix"].count(),
        cached_tokens=tokens["cached"].count(),
        answers={name: _read_origin(origin) for name, origin in part["answers"].fields()},
    )


def _read_origin(part: Part) -> AnswerOrigin:
    return AnswerOrigin(
        slot_mass=part["slot_mass"].share(),
        input_tokens=part["input_tokens"].count(),
        permutations=part["permutations"].count(),
        temperature=part["temperature"].number(),
        probability_status=part["probability_status"].text(),
        prompt_sha256=part["prompt_sha256"].text(),
    )
