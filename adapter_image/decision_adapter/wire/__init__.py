"""Request shapes: each module reads one into a `DecisionRequest` and writes its answers, and knows no other shape."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What one request may hold, the same in every shape."""

    max_decisions: int
    max_options: int


@dataclass(frozen=True)
class Timing:
    """How long a request took from its arrival to its answer, in seconds, waiting included."""

    total_seconds: float
