"""SemIf's answers: `{"result": R}` or `{"results": [R, …], "timing": T}`, and where they come from."""

from __future__ import annotations

import msgspec

from decision_adapter.decision import Decision, DecisionRequest, ModelIdentity, Score, ScoredRequest
from decision_adapter.wire import Timing
from decision_adapter.wire.provenance import READOUT, Provenance, probability_status, provenance


def encode(
    request: DecisionRequest, scored: ScoredRequest, model: ModelIdentity, timing: Timing, *, single: bool
) -> bytes:
    """Write the answer's body: floats unrounded, options in the request's order."""
    described = _model(model)
    # What this decision alone cost; the shared prefix is in `timing`, or, where nothing shares it, here.
    own_prefix_seconds = scored.prefix_seconds if single else 0.0
    results = [
        _result(decision, score, described, own_prefix_seconds + score.seconds, timing)
        for decision, score in zip(request.decisions, scored.scores, strict=True)
    ]
    origin = provenance(request, scored, model, timing)
    if single:
        return msgspec.json.encode(SingleAnswer(results[0], origin))
    costs = BatchTiming(
        batch_size=len(results),
        prefix_tokens=scored.prefix_tokens,
        prefill_seconds=scored.prefix_seconds,
        suffix_forward_seconds=scored.suffix_seconds,
        total_seconds=timing.total_seconds,
    )
    return msgspec.json.encode(BatchAnswer(results, costs, origin))


class Versions(msgspec.Struct):
    engine: str
    prompt_profile: str
    prompt: str


class ResultModel(msgspec.Struct):
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
    versions: Versions


class Result(msgspec.Struct):
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
    model: ResultModel
    readout: str
    probability_status: str
    forward_seconds: float
    total_seconds: float


class BatchTiming(msgspec.Struct):
    batch_size: int
    prefix_tokens: int
    prefill_seconds: float
    suffix_forward_seconds: float
    total_seconds: float


class SingleAnswer(msgspec.Struct):
    """The answer to `decision`."""

    result: Result
    x_provenance: Provenance


class BatchAnswer(msgspec.Struct):
    """The answer to `decisions`, in their order."""

    results: list[Result]
    timing: BatchTiming
    x_provenance: Provenance


def _result(decision: Decision, score: Score, model: ResultModel, forward_seconds: float, timing: Timing) -> Result:
    return Result(
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
        probability_status=probability_status(score.temperature),
        forward_seconds=forward_seconds,
        total_seconds=timing.total_seconds,
    )


def _model(model: ModelIdentity) -> ResultModel:
    return ResultModel(
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
        versions=Versions(engine=model.engine, prompt_profile=model.prompt_profile, prompt=model.prompt_version),
    )
