"""The SemIf shape: `{"decision": …}` or `{"decisions": […]}` over one state, answered with scores of every option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from decision_adapter.decision import Decision, DecisionRequest, JsonValue, ModelIdentity, Option, ScoredRequest
from decision_adapter.errors import RequestRefused
from decision_adapter.wire import Limits, Problem, Refusal, Timing, strict_json
from decision_adapter.wire.semif_answer import encode

# A slot is a single letter in this contract.
MAX_OPTIONS = 26

# What the description of the interface says and the reading checks in words of its own.
TEXT_OR_STRUCTURE = msgspec.Meta(extra_json_schema={"type": ["string", "object", "array"]})
NOT_EMPTY = msgspec.Meta(extra_json_schema={"minLength": 1, "minItems": 1, "minProperties": 1})

NonEmptyText = Annotated[str, msgspec.Meta(min_length=1)]


class SemifOption(msgspec.Struct):
    """One option; its id comes back byte for byte."""

    id: NonEmptyText
    # msgspec knows no recursive types; what it reads as Any is a JsonValue.
    description: Annotated[str | list[Any] | dict[str, Any], NOT_EMPTY]


class SemifDecision(msgspec.Struct):
    """One question about a state; ids are unique in a request, and option ids in a decision."""

    id: NonEmptyText
    state: Annotated[msgspec.Raw, TEXT_OR_STRUCTURE, NOT_EMPTY]
    question: NonEmptyText
    options: Annotated[list[SemifOption], msgspec.Meta(extra_json_schema={"minItems": 2, "maxItems": MAX_OPTIONS})]


# Fields it does not know are ignored: every field that means something is required, so a misspelt one is found missing.
class _Request(msgspec.Struct):
    decision: SemifDecision | msgspec.UnsetType = msgspec.UNSET
    decisions: list[SemifDecision] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class SemifRequest:
    """What was asked, and whether the answer is one `result` or a list of `results`."""

    request: DecisionRequest
    single: bool

    def encode(self, scored: ScoredRequest, model: ModelIdentity, timing: Timing) -> bytes:
        """Write the answer's body, see `semif_answer`."""
        return encode(self.request, scored, model, timing, single=self.single)


def decode(body: bytes, limits: Limits) -> SemifRequest:
    """Read a request's body.

    Raises
    ------
    RequestRefused
        In one sentence: what was found, where, what is allowed.

    Examples
    --------
    >>> body = b'''{"decision": {"id": "d", "state": "It rains.", "question": "Umbrella?",
    ...     "options": [{"id": "y", "description": "Take it."}, {"id": "n", "description": "Leave it."}]}}'''
    >>> decode(body, Limits(max_decisions=64, max_options=26)).request.decisions[0].options[1].id
    'n'
    """
    read = strict_json.decode(_DECODER, body)
    if isinstance(read.decision, SemifDecision):
        if isinstance(read.decisions, list):
            raise RequestRefused('the request has both "decision" and "decisions": give exactly one of them')
        return SemifRequest(_request([read.decision], limits), single=True)
    if isinstance(read.decisions, list):
        return SemifRequest(_request(read.decisions, limits), single=False)
    raise RequestRefused('the request has neither "decision" nor "decisions": give exactly one of them')


def refusal(problem: Problem) -> Refusal:
    """A problem as this contract tells it; what concerns a retry is in the body, for SageMaker passes no header on."""
    body: dict[str, object] = {"error": problem.message}
    if problem.retryable is not None:
        body["retryable"] = problem.retryable
    if problem.retry_after_ms is not None:
        body["retry_after_ms"] = problem.retry_after_ms
    return Refusal(problem.status, body)


_DECODER = msgspec.json.Decoder(_Request)


def _request(read: list[SemifDecision], limits: Limits) -> DecisionRequest:
    if not read:
        raise RequestRefused('"decisions" is empty: give at least one')
    if len(read) > limits.max_decisions:
        raise RequestRefused(
            f'"decisions" has {len(read)} entries, the limit is {limits.max_decisions}: send the rest apart'
        )
    decisions = tuple(_decision(each, limits) for each in read)
    repeated = _first_repeated([decision.id for decision in decisions])
    if repeated is not None:
        raise RequestRefused(f"two decisions have the id {repeated!r}: ids must be unique in a request")
    for each in read[1:]:
        if not strict_json.same(read[0].state, each.state):
            raise RequestRefused(
                f"decision {each.id!r} has another state than decision {read[0].id!r}: "
                "the decisions of a request share one state, send the others in a request of their own"
            )
    return DecisionRequest(state=_state(read[0]), decisions=decisions)


def _state(read: SemifDecision) -> JsonValue:
    state = strict_json.decode_value(read.state)
    if not isinstance(state, str | list | dict) or not state:
        raise RequestRefused(f"decision {read.id!r} has no usable state: give a non-empty string, object or array")
    return state


def _decision(read: SemifDecision, limits: Limits) -> Decision:
    count = len(read.options)
    most = min(MAX_OPTIONS, limits.max_options)
    if not 2 <= count <= most:
        raise RequestRefused(
            f"decision {read.id!r} ({_shortened(read.question)!r}) has {count} option{'s' * (count != 1)}: "
            f"from 2 to {most} are allowed"
        )
    repeated = _first_repeated([option.id for option in read.options])
    if repeated is not None:
        raise RequestRefused(f"decision {read.id!r} has two options with the id {repeated!r}: each needs its own")
    return Decision(read.id, read.question, tuple(_option(read.id, option) for option in read.options))


def _option(decision_id: str, read: SemifOption) -> Option:
    if not read.description:
        raise RequestRefused(f"option {read.id!r} of decision {decision_id!r} has no description: say what it means")
    strict_json.refuse_depth(read.description)
    return Option(read.id, read.description)


def _first_repeated(ids: list[str]) -> str | None:
    seen: set[str] = set()
    for each in ids:
        if each in seen:
            return each
        seen.add(each)
    return None


def _shortened(text: str, limit: int = 80) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
