"""System One's answers and refusals, and the list of models."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from decision_adapter.decision import Decision, DecisionRequest, ModelIdentity, Score, ScoredRequest
from decision_adapter.wire import Problem, Refusal, Timing, confidence
from decision_adapter.wire.provenance import Provenance, provenance

# The contract wants a date and a GGUF has none: one that nobody takes for real.
UNKNOWN_DATE = "1970-01-01"

VALIDATION_STATUS = 422


class NoulAnswer(msgspec.Struct, tag_field="type", tag="noul"):
    """The probability that it is true."""

    noul: float


class ChoiceAnswer(msgspec.Struct, tag_field="type", tag="choice"):
    """The most probable name, and the probability of each in the request's order."""

    choice: str
    probabilities: dict[str, float]
    confidence: float


class ScoreAnswer(msgspec.Struct, tag_field="type", tag="score"):
    """The mean level, the levels as they were given, and the probability of each."""

    score: float
    legend: dict[str, str | list[Any] | dict[str, Any]]
    probabilities: dict[str, float]
    confidence: float


Answer = NoulAnswer | ChoiceAnswer | ScoreAnswer


class Usage(msgspec.Struct):
    """The state's tokens once and those of each question; no token is generated."""

    input_tokens: int
    output_tokens: int


class SystemOneResponse(msgspec.Struct):
    """The answers, by the questions' names and in their order."""

    model: str
    answers: dict[str, Answer]
    usage: Usage
    x_provenance: Provenance


class ListedModel(msgspec.Struct):
    """The model that is served."""

    name: str
    description: str
    release_date: str


class ModelList(msgspec.Struct):
    """Always one."""

    models: list[ListedModel]


def encode(request: DecisionRequest, scored: ScoredRequest, model: ModelIdentity, timing: Timing) -> bytes:
    """Write the answer's body: floats unrounded, all in the request's order."""
    return msgspec.json.encode(
        SystemOneResponse(
            model=model.name,
            answers={
                decision.id: _answer(decision, score)
                for decision, score in zip(request.decisions, scored.scores, strict=True)
            },
            usage=Usage(input_tokens=scored.input_tokens, output_tokens=0),
            x_provenance=provenance(request, scored, model, timing),
        )
    )


def encode_models(model: ModelIdentity) -> bytes:
    """Write the list of the one model."""
    described = f"{model.file} ({model.architecture}, SHA-256 {model.sha256}) on {model.engine}"
    return msgspec.json.encode(ModelList([ListedModel(model.name, described, UNKNOWN_DATE)]))


def refusal(problem: Problem) -> Refusal:
    """A problem as this contract tells it: a list of what is wrong with a body, one object for anything else."""
    if problem.error_type == "validation_error":
        wrong = {"loc": ["body", *problem.place], "msg": problem.message, "type": problem.kind}
        return Refusal(VALIDATION_STATUS, {"detail": [wrong]})
    detail: dict[str, object] = {"error_type": problem.error_type, "message": problem.message}
    if problem.retryable is not None:
        detail["retryable"] = problem.retryable
    if problem.retry_after_ms is not None:
        detail["retry_after_ms"] = problem.retry_after_ms
    return Refusal(problem.status, {"detail": detail})


def _answer(decision: Decision, score: Score) -> Answer:
    probabilities = score.probabilities
    if decision.kind == "noul":
        return NoulAnswer(probabilities[0])
    by_name = {option.id: p for option, p in zip(decision.options, probabilities, strict=True)}
    if decision.kind == "score":
        return ScoreAnswer(
            score=math.fsum(level * p for level, p in enumerate(probabilities)),
            legend={option.id: option.description for option in decision.options},  # type: ignore[misc]  # as it was read
            probabilities=by_name,
            confidence=confidence.of_score(probabilities),
        )
    return ChoiceAnswer(
        choice=max(by_name, key=by_name.__getitem__),
        probabilities=by_name,
        confidence=confidence.of_choice(probabilities),
    )
