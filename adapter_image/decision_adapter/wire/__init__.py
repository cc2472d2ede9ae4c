"""Request shapes: each module reads one into a `DecisionRequest` and writes its answers, and knows no other shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from decision_adapter.decision import DecisionRequest, ModelIdentity, ScoredRequest
from decision_adapter.errors import Place


@dataclass(frozen=True)
class Limits:
    """What one request may hold, the same in every shape."""

    max_decisions: int
    max_options: int


@dataclass(frozen=True)
class Timing:
    """How long a request waited for its turn, and how long it took from its arrival to its answer, in seconds."""

    queue_seconds: float
    total_seconds: float


class Asked(Protocol):
    """A request that was read, and knows the shape of its answer."""

    @property
    def request(self) -> DecisionRequest:
        """What is asked."""

    def encode(self, scored: ScoredRequest, model: ModelIdentity, timing: Timing) -> bytes:
        """The answer's body: floats unrounded, all in the request's order."""


@dataclass(frozen=True)
class Problem:
    """Why a request has no answer, before a contract gives it its own shape.

    `error_type` is a word for programs. `place` and `kind` say where and what of the body, if it is the body.
    `retry_after_ms` is set where asking again may help; `retryable` is None where that is no question.
    """

    status: int
    error_type: str
    message: str
    place: Place = ()
    kind: str = ""
    retryable: bool | None = None
    retry_after_ms: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    outcome: str = "refused"


@dataclass(frozen=True)
class Refusal:
    """A problem in the shape of a contract."""

    status: int
    body: object
