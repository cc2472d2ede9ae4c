"""Ask a decision endpoint, and wait for it when it is busy."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import boto3

from decision_client import answers as systemone
from decision_client import results as semif
from decision_client.answers import Answers
from decision_client.decisions import Decision, JsonValue, request_for_all, request_for_one
from decision_client.errors import EndpointUnavailable
from decision_client.failures import AttemptFailed, Transport
from decision_client.local_cloud import LOCAL_ENDPOINT_NAME, local_cloud_of
from decision_client.plain_url import AdapterUrl
from decision_client.questions import Question, request_for_questions
from decision_client.reading import NotAnAnswer
from decision_client.results import BatchResult, DecisionResult
from decision_client.retrying import Call, RetryBudget, Time, budget_of
from decision_client.sagemaker import SageMakerEndpoint, connect

DEFAULT_DEADLINE_SECONDS = 120.0
DEFAULT_MAX_CONCURRENCY = 64


class DecisionClient:
    """Asks one endpoint: one on AWS by its name, the local cloud's, or an adapter by its URL.

    A busy endpoint is asked again when it says that it has a place (`retry_after_ms` of its answer, and a random part
    on top), until the deadline or until the retries of all its callers in this process are used up. A wrong request is
    sent once. The SDK's own retries are off: a slow decision that is sent again only makes the queue longer.

    One client serves all threads and event loops of a process over one pool of connections. Each method has a twin
    that is awaited, with an `a` before its name; boto3 knows no asyncio, so both send from threads, those of the twins
    being the client's own.

    Parameters
    ----------
    endpoint_name:
        The endpoint's name, the output `EndpointName` of its stack.
    session:
        Where credentials and region come from. Default: boto3's default session.
    region:
        Default: the session's.
    endpoint_url:
        URL of the SageMaker runtime API. Default: AWS's, or `AWS_ENDPOINT_URL`.
    deadline_seconds:
        How long a call goes on, in seconds, above 0; each may name its own. Default: 120. No attempt starts later. One
        that is under way then is given up, but not by `ask`, `score`, `score_all` and `decide` through SageMaker:
        boto3 takes nothing back, so they wait for it, at most 70 s.
    max_concurrency:
        How many requests are under way at a time, 1 or more; other calls wait for their turn, and waiting counts until
        the deadline. Default: 64. Up to so many connections and, for the twins, threads are kept.
    retry_budget:
        How many retries are allowed. Default: one budget for all clients of this process that ask this endpoint.
    on_wait:
        Called before each wait with its length in seconds and the endpoint's reason, to log or show it.
    transport, time:
        What sends instead of boto3, and what tells the time, in tests.

    Raises
    ------
    EndpointUnavailable
        If there is no region, or the session's profile does not exist.
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from decision_client.examples import EXAMPLE_DECISION, EXAMPLE_QUESTIONS, EXAMPLE_STATE, Sample
    >>> client = DecisionClient("decisions-dev", transport=Sample())
    >>> client.score(EXAMPLE_DECISION).probabilities
    {'account-access': 0.75, 'billing': 0.25}
    >>> client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS).choice("team").choice
    'billing'
    >>> asyncio.run(client.ascore(EXAMPLE_DECISION)).choice
    'account-access'
    """

    def __init__(
        self,
        endpoint_name: str,
        *,
        session: boto3.Session | None = None,
        region: str | None = None,
        endpoint_url: str | None = None,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
        max_concurrency: int = DEFAULT_MAX_CONCURRENCY,
        retry_budget: RetryBudget | None = None,
        on_wait: Callable[[float, str], None] | None = None,
        transport: Transport | None = None,
        time: Time = Time(),  # noqa: B008 - it cannot be changed
    ) -> None:
        if max_concurrency < 1:
            raise ValueError(f"max_concurrency is {max_concurrency}: let at least 1 request be under way")
        if transport is None:
            runtime = connect(session, region, endpoint_url, max_concurrency)
            transport = SageMakerEndpoint(endpoint_name, runtime, runtime.meta.endpoint_url)
        self.name = endpoint_name
        self._deadline_seconds = _checked(deadline_seconds)
        self._max_concurrency = max_concurrency
        self._budget = retry_budget or budget_of(transport.address)
        self._on_wait = on_wait
        self._transport = transport
        self._time = time
        self._places = threading.BoundedSemaphore(max_concurrency)
        self._threads: ThreadPoolExecutor | None = None
        self._threads_lock = threading.Lock()

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        key: str | None = None,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
        max_concurrency: int = DEFAULT_MAX_CONCURRENCY,
        retry_budget: RetryBudget | None = None,
        on_wait: Callable[[float, str], None] | None = None,
    ) -> Self:
        """A client of an adapter that is reached without AWS, as one that `make serve` started.

        Parameters
        ----------
        url:
            Where it listens, such as ``http://127.0.0.1:8080``. No proxy of the environment is asked.
        key:
            Its `DECISION_API_KEY`. Default: it has none.
        deadline_seconds, max_concurrency, retry_budget, on_wait:
            As for the class.

        Raises
        ------
        ValueError
            If the URL or the key is none, or a number is out of its range.

        Examples
        --------
        >>> DecisionClient.from_url("http://127.0.0.1:8080", key="s3cret").name
        'http://127.0.0.1:8080'
        """
        transport = AdapterUrl(url, key=key, max_concurrency=max_concurrency)
        return cls(
            transport.address,
            transport=transport,
            deadline_seconds=deadline_seconds,
            max_concurrency=max_concurrency,
            retry_budget=retry_budget,
            on_wait=on_wait,
        )

    @classmethod
    def from_local_cloud(
        cls,
        home: Path | None = None,
        *,
        endpoint_name: str = LOCAL_ENDPOINT_NAME,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
        max_concurrency: int = DEFAULT_MAX_CONCURRENCY,
        retry_budget: RetryBudget | None = None,
        on_wait: Callable[[float, str], None] | None = None,
    ) -> Self:
        """A client of an endpoint in the local cloud, through its InvokeEndpoint.

        Parameters
        ----------
        home:
            The cloud's folder. Default: `.local-cloud` of the working directory or of its nearest parent that has one.
        endpoint_name:
            Default: the one of `make demo`.
        deadline_seconds, max_concurrency, retry_budget, on_wait:
            As for the class.

        Raises
        ------
        EndpointUnavailable
            If none runs there.
        """
        cloud = local_cloud_of(home)
        return cls(
            endpoint_name,
            session=cloud.session(),
            endpoint_url=cloud.endpoint_url,
            deadline_seconds=deadline_seconds,
            max_concurrency=max_concurrency,
            retry_budget=retry_budget,
            on_wait=on_wait,
        )

    def score(self, decision: Decision, *, deadline_seconds: float | None = None) -> DecisionResult:
        """Ask one decision.

        Raises
        ------
        RequestRefused
            If the endpoint does not accept the decision.
        EndpointBusy
            If it was busy until the deadline, or had no more retries.
        EndpointUnavailable
            If there is no endpoint, or it failed.
        """
        return self._result(decision, self.ask(request_for_one(decision), deadline_seconds=deadline_seconds))

    async def ascore(self, decision: Decision, *, deadline_seconds: float | None = None) -> DecisionResult:
        """As `score`, awaited."""
        return self._result(decision, await self.aask(request_for_one(decision), deadline_seconds=deadline_seconds))

    def score_all(self, decisions: Sequence[Decision], *, deadline_seconds: float | None = None) -> BatchResult:
        """Ask several decisions about one state in one request: the state is evaluated once for all of them.

        Raises
        ------
        RequestRefused
            If the endpoint does not accept one of them, or their states differ.
        EndpointBusy
            If it was busy until the deadline, or had no more retries.
        EndpointUnavailable
            If there is no endpoint, or it failed.
        """
        return self._batch(decisions, self.ask(request_for_all(decisions), deadline_seconds=deadline_seconds))

    async def ascore_all(self, decisions: Sequence[Decision], *, deadline_seconds: float | None = None) -> BatchResult:
        """As `score_all`, awaited."""
        return self._batch(decisions, await self.aask(request_for_all(decisions), deadline_seconds=deadline_seconds))

    def decide(
        self,
        state: JsonValue,
        questions: Mapping[str, Question],
        *,
        permutations: int = 1,
        deadline_seconds: float | None = None,
    ) -> Answers:
        """Ask named questions of System One's kinds about one state, in one request.

        Parameters
        ----------
        state:
            What is known: text, or an object or array of JSON values.
        questions:
            By their names, which the model does not see; the answers come under the same names.
        permutations:
            Over how many orders of its options each answer is averaged, at so many times the cost. Default: 1.
        deadline_seconds:
            How long this call goes on. Default: the client's.

        Raises
        ------
        RequestRefused
            If the endpoint does not accept one of them.
        EndpointBusy
            If it was busy until the deadline, or had no more retries.
        EndpointUnavailable
            If there is no endpoint, or it failed.
        """
        body = request_for_questions(state, questions, permutations=permutations)
        return self._answers(questions, self.ask(body, deadline_seconds=deadline_seconds))

    async def adecide(
        self,
        state: JsonValue,
        questions: Mapping[str, Question],
        *,
        permutations: int = 1,
        deadline_seconds: float | None = None,
    ) -> Answers:
        """As `decide`, awaited."""
        body = request_for_questions(state, questions, permutations=permutations)
        return self._answers(questions, await self.aask(body, deadline_seconds=deadline_seconds))

    def ask(self, body: bytes, *, deadline_seconds: float | None = None) -> bytes:
        """Send a request's body as it is, wait as `score` does, and return the answer's body as it came."""
        call = self._call(deadline_seconds)
        while True:
            try:
                return self._attempt(call, body)
            except AttemptFailed as failed:
                wait = self._wait_after(call, failed)
            self._time.sleep(wait)

    async def aask(self, body: bytes, *, deadline_seconds: float | None = None) -> bytes:
        """As `ask`, awaited.

        Where it is cancelled nothing more is sent. What is under way cannot be taken back: it keeps its thread until
        its answer comes, at most 70 s, which the end of the process waits for.
        """
        call = self._call(deadline_seconds)
        while True:
            try:
                async with asyncio.timeout(call.remaining_seconds):
                    return await asyncio.get_running_loop().run_in_executor(self._executor, self._attempt, call, body)
            except TimeoutError as error:
                raise call.no_answer() from error
            except AttemptFailed as failed:
                wait = self._wait_after(call, failed)
            await self._time.async_sleep(wait)

    def close(self) -> None:
        """End the connections; as a context manager, the client does it itself."""
        if self._threads:
            self._threads.shutdown(wait=False)
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _call(self, deadline_seconds: float | None) -> Call:
        deadline = self._deadline_seconds if deadline_seconds is None else _checked(deadline_seconds)
        return Call(self._transport.title, deadline, self._budget, self._time)

    def _attempt(self, call: Call, body: bytes) -> bytes:
        if not self._places.acquire(timeout=min(call.remaining_seconds, threading.TIMEOUT_MAX)):
            raise call.no_place(self._max_concurrency)
        try:
            return self._transport.send(body, seconds=call.remaining_seconds)
        finally:
            self._places.release()

    def _wait_after(self, call: Call, failed: AttemptFailed) -> float:
        try:
            wait = call.wait_after(failed.failure)
        except Exception as error:
            raise error from failed.__cause__
        if self._on_wait:
            self._on_wait(wait, failed.failure.sentence)
        return wait

    @property
    def _executor(self) -> ThreadPoolExecutor:
        with self._threads_lock:
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._max_concurrency, thread_name_prefix="decision-client")
            return self._threads

    def _result(self, decision: Decision, body: bytes) -> DecisionResult:
        with self._reading():
            result = semif.result_from(body)
            semif.check_answers([decision], [result])
            return result

    def _batch(self, decisions: Sequence[Decision], body: bytes) -> BatchResult:
        with self._reading():
            batch = semif.batch_from(body)
            semif.check_answers(decisions, batch.results)
            return batch

    def _answers(self, questions: Mapping[str, Question], body: bytes) -> Answers:
        with self._reading():
            found = systemone.answers_from(body)
            systemone.check_answers(questions, found)
            return found

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except NotAnAnswer as error:
            raise EndpointUnavailable(
                f"{self._transport.title} answered, but not as a decision endpoint does: {error}; name one whose "
                "container is the decision adapter"
            ) from error


def _checked(deadline_seconds: float) -> float:
    if not deadline_seconds > 0:
        raise ValueError(f"deadline_seconds is {deadline_seconds}: give the seconds to wait for an answer, above 0")
    return deadline_seconds
