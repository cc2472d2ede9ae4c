from __future__ import annotations

import io
import json
import math
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

import pytest

from decision_adapter.admission import Admission, prompt_bytes
from decision_adapter.decision import Decision, DecisionRequest, Option
from decision_adapter.engine import Engine, Served
from decision_adapter.errors import Abandoned, EngineFailed, ModelRefused, PromptTooLong, RequestRefused
from decision_adapter.health import State
from decision_adapter.request_log import Log
from tests.support.stub_scorer import IDENTITY, StubScorer, probabilities_of
from tests.support.waiting import eventually

PATIENCE = 20.0


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def request_of(state: str, id: str = "d") -> DecisionRequest:
    return DecisionRequest(state, (Decision(id, "Q?", (Option("a", "x"), Option("b", "y"))),))


class Running:
    """An engine over a stub, and what it logged."""

    def __init__(self, load: Callable[[], StubScorer], clock: Callable[[], float]) -> None:
        self.stream = io.StringIO()
        self.refusals: list[ModelRefused] = []
        self.admission = Admission(deadline_seconds=50, clock=clock)
        self.clock = clock
        self.engine = Engine(
            load,
            admission=self.admission,
            deadline_seconds=50,
            log=Log(self.stream),
            on_refused=self.refusals.append,
            clock=clock,
        )
        self.engine.start()

    def ask(self, request: DecisionRequest) -> Any:
        return self.engine.submit(request, size=prompt_bytes(request), deadline=self.clock() + 50)

    def answer(self, request: DecisionRequest) -> Served:
        served: Served = self.ask(request).result(PATIENCE)
        return served

    def until(self, state: State) -> None:
        eventually(lambda: self.engine.health().state is state, f"the engine is {state}")

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]


@contextmanager
def running(
    scorer: StubScorer | None = None,
    *,
    load: Callable[[], StubScorer] | None = None,
    clock: Callable[[], float] | None = None,
    until: State = State.READY,
) -> Iterator[Running]:
    stub = scorer or StubScorer()
    run = Running(load or (lambda: stub), clock or Clock())
    try:
        run.until(until)
        yield run
    finally:
        assert run.engine.stop(timeout_seconds=PATIENCE)


def only_in_requests(act: Callable[[DecisionRequest], tuple[float, ...] | None]) -> StubScorer:
    """A stub that is well during the warm-up."""
    return StubScorer(lambda request: None if request.decisions[0].id == "warm-up" else act(request))


def test_a_request_is_answered_on_the_engines_own_thread() -> None:
    scorer = StubScorer()
    with running(scorer) as run:
        request = request_of("s")
        served = run.answer(request)

        assert served.scored.scores[0].probabilities == probabilities_of("s", request.decisions[0])
        assert scorer.threads == {"engine"}
        assert run.engine.identity == IDENTITY


def test_it_is_loading_until_the_scorer_is_there() -> None:
    gate = threading.Event()

    def load() -> StubScorer:
        assert gate.wait(PATIENCE)
        return StubScorer()

    with running(load=load, until=State.LOADING) as run:
        health = run.engine.health()
        assert (health.serving, health.retryable) == (False, True)
        with pytest.raises(EngineFailed):
            run.ask(request_of("s"))
        assert run.admission.waiting == 0
        gate.set()
        run.until(State.READY)


def test_the_pace_is_known_before_the_first_request() -> None:
    with running(clock=None) as run:
        assert run.events[-1]["event"] == "ready"

    slow = Clock()

    def take_a_second(_: DecisionRequest) -> None:
        slow.now += 1

    with running(StubScorer(take_a_second), clock=slow) as run:
        assert run.admission.pace.tokens_per_second == 128


def test_a_refused_model_is_told_and_stays_refused() -> None:
    def refuse() -> StubScorer:
        raise ModelRefused("no such device")

    with running(load=refuse, until=State.REFUSED) as run:
        health = run.engine.health()
        assert (health.serving, health.reason, health.retryable) == (False, "no such device", False)
        assert [str(refusal) for refusal in run.refusals] == ["no such device"]


def test_a_defect_while_loading_is_a_refusal_too(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> StubScorer:
        raise KeyError("layout")

    with running(load=fail, until=State.REFUSED) as run:
        assert "KeyError" in run.engine.health().reason
        assert "KeyError" in capsys.readouterr().err


def test_a_model_that_gives_no_numbers_never_becomes_ready() -> None:
    with running(StubScorer(lambda _: (math.nan, math.nan)), until=State.REFUSED) as run:
        assert "no usable answer" in run.engine.health().reason


@pytest.mark.parametrize(
    "probabilities", [(math.nan, 1.0), (math.inf, math.inf), (-math.inf, -math.inf), (0.5, 0.6), (1.0,)]
)
def test_numbers_that_are_no_probabilities_are_a_failure(probabilities: tuple[float, ...]) -> None:
    with running(only_in_requests(lambda _: probabilities)) as run, pytest.raises(EngineFailed):
        run.answer(request_of("s"))


def test_three_failures_in_a_row_are_unhealthy_and_a_success_heals() -> None:
    ill = [True]
    with running(only_in_requests(lambda _: (math.nan, math.nan) if ill[0] else None)) as run:
        for healthy_after in (True, True, False):
            with pytest.raises(EngineFailed):
                run.answer(request_of("s"))
            assert run.engine.health().serving is healthy_after
        assert "last 3 evaluations failed" in run.engine.health().reason

        ill[0] = False
        run.answer(request_of("s"))
        assert run.engine.health().serving


def test_refused_requests_are_no_failures_of_the_engine() -> None:
    with running() as run:
        for _ in range(4):
            with pytest.raises(PromptTooLong):
                run.answer(request_of("s" * 1_000_000))
        assert run.engine.health().serving
        run.answer(request_of("s"))


def test_a_defect_fails_one_request_and_tells_nobody_its_text() -> None:
    def fail(request: DecisionRequest) -> None:
        if request.state == "bad":
            raise KeyError("the caller's secret")

    with running(only_in_requests(fail)) as run:
        with pytest.raises(EngineFailed, match="unexpected KeyError"):
            run.answer(request_of("bad"))
        run.answer(request_of("good"))

        assert "secret" not in run.stream.getvalue()
        assert run.events[-1]["reason"] == "KeyError"
        assert run.events[-1]["where"].startswith("test_engine.py:")


def test_a_dead_thread_is_unhealthy_and_fails_whoever_waits() -> None:
    begun, gate = threading.Event(), threading.Event()

    def die(_: DecisionRequest) -> None:
        begun.set()
        assert gate.wait(PATIENCE)
        raise SystemExit

    with running(only_in_requests(die)) as run:
        futures = [run.ask(request_of("running"))]
        assert begun.wait(PATIENCE)
        futures.append(run.ask(request_of("waiting")))
        gate.set()

        for future in futures:
            with pytest.raises(EngineFailed, match="SystemExit"):
                future.result(PATIENCE)
        assert run.engine.health().state is State.FAILED
        with pytest.raises(EngineFailed):
            run.ask(request_of("s"))
        assert run.admission.waiting == 0


def test_an_evaluation_that_does_not_end_is_unhealthy() -> None:
    clock = Clock()
    begun, gate = threading.Event(), threading.Event()

    def hang(_: DecisionRequest) -> None:
        begun.set()
        assert gate.wait(PATIENCE)

    with running(only_in_requests(hang), clock=clock) as run:
        future = run.ask(request_of("s"))
        assert begun.wait(PATIENCE)
        clock.now += 200
        assert run.engine.health().serving
        clock.now += 1
        assert not run.engine.health().serving
        gate.set()
        future.result(PATIENCE)
        assert run.engine.health().serving


def test_a_request_whose_caller_is_gone_is_skipped_and_its_place_is_free() -> None:
    begun, gate = threading.Event(), threading.Event()
    states: list[object] = []

    def first_waits(request: DecisionRequest) -> None:
        states.append(request.state)
        begun.set()
        assert gate.wait(PATIENCE)

    with running(only_in_requests(first_waits)) as run:
        first = run.ask(request_of("first"))
        assert begun.wait(PATIENCE)
        gone, last = run.ask(request_of("gone")), run.ask(request_of("last"))
        assert run.admission.waiting == 2

        assert gone.cancel()
        assert run.admission.waiting == 1
        gate.set()
        first.result(PATIENCE)
        last.result(PATIENCE)
        with pytest.raises(CancelledError):
            gone.result(0)
        assert states == ["first", "last"]


def test_an_evaluation_whose_caller_is_gone_is_given_up_and_is_no_failure() -> None:
    begun, gate = threading.Event(), threading.Event()

    def wait(_: DecisionRequest) -> None:
        begun.set()
        assert gate.wait(PATIENCE)

    scorer = only_in_requests(wait)
    with running(scorer) as run:
        for _ in range(4):
            begun.clear()
            gate.clear()
            gone = run.ask(request_of("gone"))
            assert begun.wait(PATIENCE)
            gone.cancel()
            gate.set()
            with pytest.raises(Abandoned):
                gone.result(PATIENCE)

        assert run.engine.health().serving
        assert [request.decisions[0].id for request in scorer.scored] == ["warm-up"]


def test_what_is_given_up_still_teaches_that_it_was_slow() -> None:
    clock = Clock()
    futures: list[Any] = []

    def slow(_: DecisionRequest) -> None:
        eventually(lambda: futures, "the request is known here")
        clock.now += 128
        futures[0].cancel()

    with running(only_in_requests(slow), clock=clock) as run:
        run.admission.pace.learn(tokens=1000, prompt_bytes=1000, seconds=1)
        futures.append(run.ask(request_of("s")))
        with pytest.raises(Abandoned):
            futures[0].result(PATIENCE)

        assert run.admission.pace.tokens_per_second < 10


def test_the_place_is_free_when_the_answer_is_there() -> None:
    with running() as run:
        for n in range(200):
            run.answer(request_of(str(n)))
            assert run.admission.waiting == 0


def test_scores_of_other_decisions_are_never_passed_on() -> None:
    scorer = StubScorer()
    honest = scorer.score
    with running(scorer) as run:
        scorer.score = lambda request, **_: honest(request_of("s", "another"))  # type: ignore[method-assign]

        with pytest.raises(EngineFailed, match="not those of the request"):
            run.answer(request_of("s"))


def test_stopping_closes_the_scorer() -> None:
    scorer = StubScorer()
    with running(scorer):
        pass

    assert scorer.closed


def test_a_context_too_small_for_the_warm_up_still_serves() -> None:
    class Small(StubScorer):
        def measure(self, request: DecisionRequest) -> int:
            if request.decisions[0].id == "warm-up":
                raise RequestRefused("too long")
            return super().measure(request)

    with running(Small()) as run:
        run.answer(request_of("s"))
