"""`x_provenance`: what answered, how, and at what cost. The same object in the answers of every shape."""

from __future__ import annotations

import msgspec

from decision_adapter.decision import DecisionRequest, ModelIdentity, Score, ScoredRequest
from decision_adapter.wire import Timing

READOUT = "softmax over the option slots' logits at the last prompt token; no token is generated"

UNCALIBRATED = "conditional on the options given, uncalibrated"
SCALED = "conditional on the options given, scaled by the temperature of their kind of question"

CONFIDENCE = (
    "choice: clamp((N*max(p) - 1)/(N - 1), 0, 1), 1 if N is 1; "
    "score: max(0, 1 - E|i - mode|/mean|i - (N - 1)/2|); the System One formulas"
)


def probability_status(temperature: float) -> str:
    """What a probability read at this temperature is."""
    return UNCALIBRATED if temperature == 1.0 else SCALED


class AnsweringModel(msgspec.Struct):
    """The model's bytes: `sha256` and `bytes` are of the whole package, `file` is its first file."""

    name: str
    file: str
    bytes: int
    sha256: str
    architecture: str


class AnsweringEngine(msgspec.Struct):
    """What evaluates it. `gpu_layers` were offloaded to `device`."""

    build: str
    backend: str
    device: str
    threads: int
    gpu_layers: int
    context_tokens: int


class PromptWords(msgspec.Struct):
    """The profile with the prompt's words: answers of two profiles are not comparable."""

    profile: str
    version: str


class Milliseconds(msgspec.Struct):
    """Waiting for its turn, evaluating the state and what follows it, and everything from arrival to answer."""

    queue_ms: float
    prefix_ms: float
    suffix_ms: float
    total_ms: float


class Tokens(msgspec.Struct):
    """Tokens of the state's prefix, and how many of them were cached, not evaluated."""

    prefix: int
    cached: int


class AnswerProvenance(msgspec.Struct):
    """What belongs to one answer.

    `slot_mass` is the share of the whole vocabulary's probability that fell on the options, `prompt_sha256` of the
    prompt with the options in the caller's order, of which `permutations` rotations were averaged.
    """

    prompt_sha256: str
    slot_mass: float
    input_tokens: int
    permutations: int
    temperature: float
    probability_status: str


class Provenance(msgspec.Struct):
    """Where an answer comes from; `answers` by the names or ids of the request."""

    model: AnsweringModel
    engine: AnsweringEngine
    prompt: PromptWords
    readout: str
    confidence: str
    timing: Milliseconds
    tokens: Tokens
    answers: dict[str, AnswerProvenance]


def provenance(request: DecisionRequest, scored: ScoredRequest, model: ModelIdentity, timing: Timing) -> Provenance:
    """The provenance of one request's answers."""
    return Provenance(
        model=AnsweringModel(model.name, model.file, model.bytes, model.sha256, model.architecture),
        engine=AnsweringEngine(
            build=model.engine,
            backend=model.backend,
            device=model.device,
            threads=model.threads,
            gpu_layers=model.gpu_layers,
            context_tokens=model.context_tokens,
        ),
        prompt=PromptWords(model.prompt_profile, model.prompt_version),
        readout=READOUT,
        confidence=CONFIDENCE,
        timing=Milliseconds(
            queue_ms=timing.queue_seconds * 1000,
            prefix_ms=scored.prefix_seconds * 1000,
            suffix_ms=scored.suffix_seconds * 1000,
            total_ms=timing.total_seconds * 1000,
        ),
        tokens=Tokens(prefix=scored.prefix_tokens, cached=scored.cached_tokens),
        answers={decision.id: _answer(score) for decision, score in zip(request.decisions, scored.scores, strict=True)},
    )


def _answer(score: Score) -> AnswerProvenance:
    return AnswerProvenance(
        prompt_sha256=score.prompt_sha256,
        slot_mass=score.slot_mass,
        input_tokens=score.input_tokens,
        permutations=score.permutations,
        temperature=score.temperature,
        probability_status=probability_status(score.temperature),
    )
