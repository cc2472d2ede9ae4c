"""A scorer without a model: it answers from the request's text, and does on demand what real ones do on a bad day."""

from __future__ import annotations

import hashlib
import sys
import threading
import time
from array import array
from collections.abc import Callable

from decision_adapter.decision import Decision, DecisionRequest, JsonValue, ModelIdentity, Score, ScoredRequest
from decision_adapter.errors import Abandoned, EngineFailed, PromptTooLong
from decision_adapter.slots import Reading, read_slots

# What replaces a stub's own answer.
Replacement = Reading | tuple[float, ...] | None

IDENTITY = ModelIdentity(
    name="stub",
    file="stub.gguf",
    bytes=4,
    sha256="ab" * 32,
    architecture="stub",
    engine="stub 1",
    backend="stub",
    device="CPU",
    threads=1,
    context_tokens=100_000,
    gpu_layers=0,
    prompt_profile="stub",
    prompt_version="stub-1",
)


def probabilities_of(state: JsonValue, decision: Decision) -> tuple[float, ...]:
    """What the stub answers: a function of state, question and option, so that a mixed-up answer shows."""
    weights = [
        1 + hashlib.sha256(repr((state, decision.question, option)).encode()).digest()[0] for option in decision.options
    ]
    return tuple(weight / sum(weights) for weight in weights)


class StubScorer:
    """Answers at once; `on_score` runs first and may raise, wait or replace the answer's probabilities."""

    identity = IDENTITY

    def __init__(self, on_score: Callable[[DecisionRequest], Replacement] | None = None) -> None:
        self.scored: list[DecisionRequest] = []
        self.threads: set[str] = set()
        self.closed = False
        self._on_score = on_score

    def measure(self, request: DecisionRequest) -> int:
        """A token for every four characters, at least 64, as many again for each decision."""
        tokens = max(64, len(str(request.state)) // 4)
        for decision in request.decisions:
            if tokens > IDENTITY.context_tokens:
                raise PromptTooLong(decision.id, tokens, IDENTITY.context_tokens)
        return tokens + 64 * len(request.decisions)

    def score(self, request: DecisionRequest, *, cancelled: Callable[[], bool] = lambda: False) -> ScoredRequest:
        """The scores of `probabilities_of`."""
        self.threads.add(threading.current_thread().name)
        replaced = self._on_score(request) if self._on_score else None
        if cancelled():
            raise Abandoned
        self.scored.append(request)
        return ScoredRequest(
            scores=tuple(_score(request.state, decision, replaced) for decision in request.decisions),
            prefix_tokens=64,
            cached_tokens=0,
            prefix_seconds=0.001,
            suffix_seconds=0.001,
        )

    def close(self) -> None:
        """Remembered."""
        self.closed = True


def _score(state: JsonValue, decision: Decision, replaced: Replacement) -> Score:
    count = len(decision.options)
    mass = 0.5
    if isinstance(replaced, Reading):
        mass, replaced = replaced.slot_mass, replaced.probabilities
    return Score(
        decision_id=decision.id,
        probabilities=replaced or probabilities_of(state, decision),
        logits=tuple(float(n) for n in range(count)),
        slot_token_ids=tuple(range(count)),
        slot_mass=mass,
        argmax_token_id=0,
        input_tokens=128,
        suffix_tokens=64,
        prompt_sha256="cd" * 32,
        seconds=0.001,
    )


def obey_state(request: DecisionRequest) -> Replacement:
    """A state may be an order: ["sleep", seconds], ["logits", text, …], ["nan"], ["fail"], ["bug"] or ["die"].

    Of logits, which are texts because JSON has no infinity, the first are those of the options.
    """
    match request.state:
        case ["sleep", int() | float() as seconds, *_]:
            print("evaluating", file=sys.stderr, flush=True)
            time.sleep(seconds)
        case ["logits", *texts]:
            return read_slots(array("f", map(float, map(str, texts))), range(len(request.decisions[0].options)))
        case ["nan"]:
            return tuple(float("nan") for _ in request.decisions[0].options)
        case ["fail"]:
            raise EngineFailed("told to fail")
        case ["bug"]:
            raise KeyError("a secret of the caller's")
        case ["die"]:
            raise SystemExit
    return None
