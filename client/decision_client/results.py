"""What is answered: probabilities over the options of each decision, and what produced them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class NotAnAnswer(ValueError):
    """The body is not the answer of a decision endpoint; the text says what is wrong with it."""


@dataclass(frozen=True)
class ModelIdentity:
    """The model that answered: its file, its size in bytes, the SHA-256 of its package, and its other settings."""

    file: str
    bytes: int
    sha256: str
    settings: Mapping[str, Any]

    @classmethod
    def from_json(cls, document: Any) -> ModelIdentity:
        """Read the `model` of a result."""
        with _Reading("its model"):
            rest = {key: value for key, value in document.items() if key not in ("file", "bytes", "sha256")}
            return cls(str(document["file"]), int(document["bytes"]), str(document["sha256"]), rest)


@dataclass(frozen=True)
class DecisionResult:
    """The answer to one decision.

    `probabilities` and `logits` are by option id, in the request's order. Probabilities add up to 1 over the options
    given: they compare these options with each other and are no calibrated confidence. `slot_mass` (0–1) is the share
    of the model's whole probability that fell on any of the options: where it is low, the model wanted to say something
    else. `input_tokens` counts the whole prompt; `seconds` is the time the endpoint took.

    Examples
    --------
    >>> from decision_client.examples import SAMPLE_ANSWER
    >>> result = result_from(SAMPLE_ANSWER)
    >>> result.choice, result.probabilities["billing"]
    ('account-access', 0.25)
    """

    id: str
    probabilities: Mapping[str, float]
    logits: Mapping[str, float]
    slot_mass: float
    input_tokens: int
    prompt_version: str
    prompt_sha256: str
    model: ModelIdentity
    probability_status: str
    seconds: float

    @property
    def choice(self) -> str:
        """The id of the most probable option; of equals, the first in the request."""
        return max(self.probabilities, key=lambda option_id: self.probabilities[option_id])

    @classmethod
    def from_json(cls, document: Any) -> DecisionResult:
        """Read one result of an answer."""
        with _Reading("a result"):
            option_ids = [str(option_id) for option_id in document["option_ids"]]
            return cls(
                id=str(document["id"]),
                probabilities=_by_option(option_ids, document["probabilities"]),
                logits=_by_option(option_ids, document["option_logits"]),
                slot_mass=float(document["allowed_token_mass"]),
                input_tokens=int(document["input_tokens"]),
                prompt_version=str(document["prompt_version"]),
                prompt_sha256=str(document["prompt_sha256"]),
                model=ModelIdentity.from_json(document["model"]),
                probability_status=str(document["probability_status"]),
                seconds=float(document["total_seconds"]),
            )


@dataclass(frozen=True)
class BatchTiming:
    """What the decisions of one request cost together: tokens of the shared prefix, and seconds."""

    batch_size: int
    prefix_tokens: int
    prefill_seconds: float
    suffix_forward_seconds: float
    total_seconds: float

    @classmethod
    def from_json(cls, document: Any) -> BatchTiming:
        """Read the `timing` of an answer to several decisions."""
        with _Reading("its timing"):
            return cls(
                batch_size=int(document["batch_size"]),
                prefix_tokens=int(document["prefix_tokens"]),
                prefill_seconds=float(document["prefill_seconds"]),
                suffix_forward_seconds=float(document["suffix_forward_seconds"]),
                total_seconds=float(document["total_seconds"]),
            )


@dataclass(frozen=True)
class BatchResult:
    """The answers to decisions asked together, in their order."""

    results: tuple[DecisionResult, ...]
    timing: BatchTiming

    def by_id(self) -> dict[str, DecisionResult]:
        """The results by the id of their decision."""
        return {result.id: result for result in self.results}


def result_from(body: bytes) -> DecisionResult:
    """Read the answer to one decision.

    Raises
    ------
    NotAnAnswer
        If the body is something else.
    """
    document = read_document(body)
    with _Reading("the answer"):
        return DecisionResult.from_json(document["result"])


def batch_from(body: bytes) -> BatchResult:
    """Read the answer to several decisions.

    Raises
    ------
    NotAnAnswer
        If the body is something else.
    """
    document = read_document(body)
    with _Reading("the answer"):
        results = tuple(DecisionResult.from_json(result) for result in document["results"])
        return BatchResult(results, BatchTiming.from_json(document["timing"]))


def read_document(body: bytes) -> dict[str, Any]:
    """Decode an answer's JSON object.

    Raises
    ------
    NotAnAnswer
        If it is none.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotAnAnswer(f"its body is no JSON ({error})") from error
    if not isinstance(document, dict):
        raise NotAnAnswer("its body is no JSON object")
    return document


def _by_option(option_ids: list[str], numbers: list[Any]) -> dict[str, float]:
    return dict(zip(option_ids, (float(number) for number in numbers), strict=True))


class _Reading:
    """Turns whatever a misshapen document raises within the block into one sentence that says where it was."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, NotAnAnswer):
            return
        if isinstance(error, KeyError):
            raise NotAnAnswer(f"{self._what} has no field {error.args[0]!r}") from error
        if isinstance(error, (AttributeError, TypeError, ValueError)):
            raise NotAnAnswer(f"{self._what} has another shape ({error})") from error
