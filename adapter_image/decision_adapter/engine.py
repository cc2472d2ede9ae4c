"""The one thread that owns the scorer, and the truth about how it is."""

from __future__ import annotations

import queue
import threading
import time
import traceback
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass

from decision_adapter.admission import Admission, Place, prompt_bytes
from decision_adapter.decision import DecisionRequest, ModelIdentity, ScoredRequest
from decision_adapter.errors import Abandoned, Busy, EngineFailed, ModelRefused, RequestRefused
from decision_adapter.health import Health, State
from decision_adapter.request_log import Log, where
from decision_adapter.scoring import WARM_UP, Scorer, check

# One failure may be the request's; so many in a row are the engine's.
FAILURES_UNTIL_UNHEALTHY = 3

# No request is begun that takes more than two deadlines at the best pace (see admission); this long, none runs at any.
WEDGED_AFTER_DEADLINES = 4


@dataclass(frozen=True)
class Served:
    """An answer and how long it waited for its turn, in seconds."""

    scored: ScoredRequest
    queue_seconds: float


class _Answer(Future[Served]):
    """Also knows that it was cancelled when that came too late: an evaluation that has begun is given up then."""

    abandoned = False

    def cancel(self) -> bool:
        self.abandoned = True
        return super().cancel()


@dataclass(frozen=True)
class _Job:
    request: DecisionRequest
    place: Place
    entered: float
    future: _Answer


class Engine:
    """Loads the scorer on a thread of its own and serves requests there, one after the other.

    Parameters
    ----------
    load:
        Makes the scorer; runs on the engine's thread, as does everything else of the scorer. Raises `ModelRefused`.
    admission:
        Who may wait.
    deadline_seconds:
        How long a request may take; one evaluation that runs four times as long counts as wedged.
    log:
        Gets `ready` and `engine_failed`.
    on_refused:
        Told, on the engine's thread, that there is no scorer. Default: nobody is.
    clock:
        Monotonic seconds. Default: the system's.
    """

    def __init__(
        self,
        load: Callable[[], Scorer],
        *,
        admission: Admission,
        deadline_seconds: float,
        log: Log,
        on_refused: Callable[[ModelRefused], None] = lambda refusal: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._load = load
        self._admission = admission
        self._wedged_after = WEDGED_AFTER_DEADLINES * deadline_seconds
        self._log = log
        self._on_refused = on_refused
        self._clock = clock
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._state = State.LOADING
        self._reason = "the model is loading"
        self._failures = 0
        self._evaluating_since: float | None = None
        self._identity: ModelIdentity | None = None
        # Between "is it open" and "put it in" the thread must not end, or the job would wait for nobody.
        self._gate = threading.Lock()
        self._open = False
        # A daemon: a load is one blocking call of C that nothing interrupts, and must not hold the process.
        self._thread = threading.Thread(target=self._run, name="engine", daemon=True)

    @property
    def identity(self) -> ModelIdentity:
        """What answers; only once it is ready."""
        if self._identity is None:
            raise EngineFailed("the model is not loaded")
        return self._identity

    @property
    def waiting(self) -> int:
        """How many requests wait for their turn."""
        return self._admission.waiting

    def start(self) -> None:
        """Begin to load; returns at once."""
        self._thread.start()

    def submit(self, request: DecisionRequest, *, size: int, deadline: float) -> Future[Served]:
        """Queue a request of about `size` `prompt_bytes`; its future, once cancelled, frees the place.

        Raises
        ------
        Busy
            From the admission, at once.
        EngineFailed
            If the engine is not serving: ask `health` first.
        """
        place = self._admission.enter(size, deadline=deadline)
        future = _Answer()
        # The first callback: whoever waits for the future finds the place free.
        future.add_done_callback(lambda _: place.leave())
        with self._gate:
            if not self._open:
                place.leave()
                raise EngineFailed(self._reason)
            self._jobs.put(_Job(request, place, self._clock(), future))
        return future

    def health(self) -> Health:
        """How it is now; takes no time."""
        if self._state is State.READY:
            if not self._thread.is_alive():
                return Health(False, State.FAILED, "the engine thread is gone")
            since = self._evaluating_since
            if since is not None and self._clock() - since > self._wedged_after:
                return Health(False, State.FAILED, f"an evaluation has run for over {self._wedged_after:g} s")
            if self._failures >= FAILURES_UNTIL_UNHEALTHY:
                return Health(False, State.FAILED, f"the last {self._failures} evaluations failed")
            return Health(True, State.READY)
        return Health(False, self._state, self._reason, retryable=self._state is not State.REFUSED)

    def stop(self, *, timeout_seconds: float) -> bool:
        """End once what waits is served or cancelled; says whether the thread ended in time."""
        self._jobs.put(None)
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        started = self._clock()
        try:
            scorer = self._loaded(started)
            if scorer is None:
                return
            try:
                while (job := self._jobs.get()) is not None:
                    self._serve(scorer, job)
                self._close(State.STOPPED, "the server is stopping")
            finally:
                scorer.close()
        except BaseException as failure:  # noqa: BLE001  the thread ends either way; what matters is that /ping says so
            self._close(State.FAILED, f"the engine thread ended with {type(failure).__name__}")
            self._log.write("engine_failed", reason=self._reason, where=where(failure))

    def _loaded(self, started: float) -> Scorer | None:
        try:
            scorer = self._load()
            self._warm_up(scorer)
        except ModelRefused as refusal:
            self._refuse(refusal)
            return None
        except Exception as failure:  # noqa: BLE001  whatever it is, there is no scorer, and somebody must be told
            # No request has been read yet, so the trace holds no caller's text.
            traceback.print_exception(failure)
            self._refuse(ModelRefused(f"loading ended with {type(failure).__name__}: {failure}"))
            return None
        self._identity = scorer.identity
        with self._gate:
            self._open = True
        self._state, self._reason = State.READY, ""
        pace = self._admission.pace
        self._log.write(
            "ready",
            seconds=round(self._clock() - started, 3),
            model=scorer.identity.name,
            sha256=scorer.identity.sha256,
            device=scorer.identity.device,
            threads=scorer.identity.threads,
            gpu_layers=scorer.identity.gpu_layers,
            tokens_per_second=round(pace.tokens_per_second, 1) if pace.measured else None,
        )
        return scorer

    def _refuse(self, refusal: ModelRefused) -> None:
        self._state, self._reason = State.REFUSED, str(refusal)
        self._on_refused(refusal)

    def _warm_up(self, scorer: Scorer) -> None:
        """Prove that the model gives numbers before anyone is told it is ready, and learn its pace."""
        began = self._clock()
        try:
            tokens = scorer.measure(WARM_UP)
            check(WARM_UP, scorer.score(WARM_UP))
        except RequestRefused:
            return  # a context limit below even this: the pace is learned from what fits
        except EngineFailed as failure:
            raise ModelRefused(f"the model loads and gives no usable answer: {failure}") from failure
        self._admission.pace.learn(tokens=tokens, prompt_bytes=prompt_bytes(WARM_UP), seconds=self._clock() - began)

    def _serve(self, scorer: Scorer, job: _Job) -> None:
        if not job.future.set_running_or_notify_cancel():
            return  # whoever asked is gone
        began = self._clock()
        self._evaluating_since = began
        try:
            served = self._evaluate(scorer, job, began)
        except (RequestRefused, Busy, Abandoned) as refusal:
            outcome: Served | Exception = refusal
        except EngineFailed as failure:
            outcome = self._failed(str(failure), failure)
        except Exception as failure:  # noqa: BLE001  one request's defect must not end the thread for all others
            outcome = self._failed(f"an unexpected {type(failure).__name__}", failure)
        except BaseException as end:
            job.future.set_exception(EngineFailed(f"the engine thread ended with {type(end).__name__}"))
            raise
        else:
            self._failures = 0
            outcome = served
        self._evaluating_since = None
        if isinstance(outcome, Exception):
            job.future.set_exception(outcome)
        else:
            job.future.set_result(outcome)

    def _evaluate(self, scorer: Scorer, job: _Job, began: float) -> Served:
        tokens = scorer.measure(job.request)
        job.place.start(tokens)
        evaluated_from = self._clock()
        pace = self._admission.pace
        try:
            scored = scorer.score(job.request, cancelled=lambda: job.future.abandoned)
        except Abandoned:
            seconds = self._clock() - evaluated_from
            # How fast it was is unknown, but not that it was slower than believed.
            if seconds > pace.seconds_for(tokens):
                pace.learn(tokens=tokens, prompt_bytes=job.place.prompt_bytes, seconds=seconds)
            raise
        check(job.request, scored)
        pace.learn(tokens=tokens, prompt_bytes=job.place.prompt_bytes, seconds=self._clock() - evaluated_from)
        return Served(scored, queue_seconds=began - job.entered)

    def _failed(self, reason: str, failure: Exception) -> EngineFailed:
        self._failures += 1
        # The reason may name the request's decision, which is the caller's text: it goes to nobody but the caller.
        self._log.write("engine_failed", reason=type(failure).__name__, where=where(failure), in_a_row=self._failures)
        return EngineFailed(reason)

    def _close(self, state: State, reason: str) -> None:
        """Let nobody in any more, and tell those who wait."""
        self._state, self._reason = state, reason
        with self._gate:
            self._open = False
        while not self._jobs.empty():
            job = self._jobs.get()
            if job is not None and job.future.set_running_or_notify_cancel():
                job.future.set_exception(EngineFailed(reason))
