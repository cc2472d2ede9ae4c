"""What the engine asks of a scorer, and what it takes from none."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

from decision_adapter.decision import Decision, DecisionRequest, ModelIdentity, Option, ScoredRequest
from decision_adapter.errors import EngineFailed

PROBABILITY_SUM_TOLERANCE = 1e-6


class Scorer(Protocol):
    """What the engine thread owns; every call comes from that thread."""

    @property
    def identity(self) -> ModelIdentity:
        """What answers."""

    def measure(self, request: DecisionRequest, /) -> int:
        """How many tokens the request takes to evaluate; raises `RequestRefused`, evaluates nothing."""

    def score(self, request: DecisionRequest, /, *, cancelled: Callable[[], bool] = ...) -> ScoredRequest:
        """The scores, in the request's order; raises `EngineFailed`, and `Abandoned` once `cancelled` says so."""

    def close(self) -> None:
        """Free the model."""


def check(request: DecisionRequest, scored: ScoredRequest) -> None:
    """Raise `EngineFailed` unless every decision has its own finite probabilities, which sum to 1."""
    if [score.decision_id for score in scored.scores] != [decision.id for decision in request.decisions]:
        raise EngineFailed("the scores are not those of the request's decisions")
    for score, decision in zip(scored.scores, request.decisions, strict=True):
        if not len(score.probabilities) == len(score.logits) == len(score.slot_token_ids) == len(decision.options):
            raise EngineFailed("the scores are not those of the decision's options")
        if not all(map(math.isfinite, (*score.probabilities, *score.logits, score.slot_mass))):
            raise EngineFailed("the model's logits are not finite")
        if abs(sum(score.probabilities) - 1) > PROBABILITY_SUM_TOLERANCE:
            raise EngineFailed("the probabilities do not sum to 1")


WARM_UP = DecisionRequest(
    state="The kettle is on.",
    decisions=(
        Decision(
            id="warm-up",
            question="Is the kettle on?",
            options=(Option("yes", "The kettle is on."), Option("no", "The kettle is off.")),
        ),
    ),
)
"""What a scorer is tried with before anyone is told that it is ready."""
