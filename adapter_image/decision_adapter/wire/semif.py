"""The SemIf shape: `{"decision": …}` or `{"decisions": […]}` over one state, answered with scores of every option."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec

from decision_adapter.decision import Decision, DecisionRequest, JsonValue, ModelIdentity, Option, Score, ScoredRequest
from decision_adapter.errors import RequestRefused
from decision_adapter.wire import Limits, Timing, strict_json

READOUT = "softmax over the option slots' logits at the last prompt token; no token is generated"
PROBABILITY_STATUS = "conditional on the options given, uncalibrated"

NonEmptyText = Annotated[str, msgspec.Meta(min_length=1)]


class _Option(msgspec.Struct):
    id: NonEmptyText
    # msgspec knows no recursive types; what it reads as Any is a JsonValue.
    description: str | list[Any] | dict[str, Any]


class _Decision(msgspec.Struct):
    id: NonEmptyText
    state: msgspec.Raw
    question: NonEmptyText
    options: list[_Option]


# Fields it does not know are ignored: every field that means something is required, so a misspelt one is found missing.
class _Request(msgspec.Struct):
    decision: _Decision | msgspec.UnsetType = msgspec.UNSET
    decisions: list[_Decision] | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True)
class SemifRequest:
    """What was asked, and whether the answer is one `result` or a list of `results`."""

    request: DecisionRequest
    single: bool


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
    if isinstance(read.decision, _Decision):
        if isinstance(read.decisions, list):
            raise RequestRefused('the request has both "decision" and "decisions": give exactly one of them')
        return SemifRequest(_request([read.decision], limits), single=True)
    if isinstance(read.decisions, list):
        return SemifRequest(_request(read.decisions, limits), single=False)
    raise RequestRefused('the request has neither "decision" nor "decisions": give exactly one of them')


def encode(asked: SemifRequest, scored: ScoredRequest, model: ModelIdentity, timing: Timing) -> bytes:
    """Write the answer's body: floats unrounded, options in the request's order."""
    described = _model(model)
    # What this decision alone cost; the shared prefix is in `timing`, or, where nothing shares it, here.
    own_prefix_seconds = scored.prefix_seconds if asked.single else 0.0
    results = [
        _result(decision, score, described, own_prefix_seconds + score.seconds, timing)
        for decision, score in zip(asked.request.decisions, scored.scores, strict=True)
    ]
    if asked.single:
        return msgspec.json.encode({"result": results[0]})
    return msgspec.json.encode(
        {
            "results": results,
            "timing": _BatchTiming(
                batch_size=len(results),
                prefix_tokens=scored.prefix_tokens,
                prefill_seconds=scored.prefix_seconds,
                suffix_forward_seconds=scored.suffix_seconds,
                total_seconds=timing.total_seconds,
            ),
        }
    )


_DECODER = msgspec.json.Decoder(_Request)


def _request(read: list[_Decision], limits: Limits) -> DecisionRequest:
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


def _state(read: _Decision) -> JsonValue:
    state = strict_json.decode_value(read.state)
    if not isinstance(state, str | list | dict) or not state:
        raise RequestRefused(f"decision {read.id!r} has no usable state: give a non-empty string, object or array")
    return state


def _decision(read: _Decision, limits: Limits) -> Decision:
    count = len(read.options)
    if not 2 <= count <= limits.max_options:
        raise RequestRefused(
            f"decision {read.id!r} ({_shortened(read.question)!r}) has {count} option{'s' * (count != 1)}: "
            f"from 2 to {limits.max_options} are allowed"
        )
    repeated = _first_repeated([option.id for option in read.options])
    if repeated is not None:
        raise RequestRefused(f"decision {read.id!r} has two options with the id {repeated!r}: each needs its own")
    return Decision(read.id, read.question, tuple(_option(read.id, option) for option in read.options))


def _option(decision_id: str, read: _Option) -> Option:
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


class _Versions(msgspec.Struct):
    engine: str
    prompt_profile: str
    prompt: str


class _Model(msgspec.Struct):
    name: str
    file: str
    bytes: int
    sha256: str
    architecture: str
    threads: int
    context_tokens: int
    gpu_layers: int
    backend: str
    device: str
    versions: _Versions


class _Result(msgspec.Struct):
    id: str
    option_ids: tuple[str, ...]
    probabilities: tuple[float, ...]
    option_logits: tuple[float, ...]
    answer_token_ids: tuple[int, ...]
    input_tokens: int
    allowed_token_mass: float
    full_vocab_argmax_id: int
    prompt_sha256: str
    prompt_version: str
    model: _Model
    readout: str
    probability_status: str
    forward_seconds: float
    total_seconds: float


class _BatchTiming(msgspec.Struct):
    batch_size: int
    prefix_tokens: int
    prefill_seconds: float
    suffix_forward_seconds: float
    total_seconds: float


def _result(decision: Decision, score: Score, model: _Model, forward_seconds: float, timing: Timing) -> _Result:
    return _Result(
        id=decision.id,
        option_ids=tuple(option.id for option in decision.options),
        probabilities=score.probabilities,
        option_logits=score.logits,
        answer_token_ids=score.slot_token_ids,
        input_tokens=score.input_tokens,
        allowed_token_mass=score.slot_mass,
        full_vocab_argmax_id=score.argmax_token_id,
        prompt_sha256=score.prompt_sha256,
        prompt_version=model.versions.prompt,
        model=model,
        readout=READOUT,
        probability_status=PROBABILITY_STATUS,
        forward_seconds=forward_seconds,
        total_seconds=timing.total_seconds,
    )


def _model(model: ModelIdentity) -> _Model:
    return _Model(
        name=model.name,
        file=model.file,
        bytes=model.bytes,
        sha256=model.sha256,
        architecture=model.architecture,
        threads=model.threads,
        context_tokens=model.context_tokens,
        gpu_layers=model.gpu_layers,
        backend=model.backend,
        device=model.device,
        versions=_Versions(engine=model.engine, prompt_profile=model.prompt_profile, prompt=model.prompt_version),
    )
