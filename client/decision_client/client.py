"""Ask a decision endpoint, and wait for it when it is busy."""

from __future__ import annotations

import ipaddress
import random as random_numbers
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError

from decision_client.decisions import Decision, request_for_all, request_for_one
from decision_client.errors import DecisionError, EndpointBusy, EndpointUnavailable, RequestRefused
from decision_client.failures import Failure, Kind, read_failure
from decision_client.results import BatchResult, DecisionResult, NotAnAnswer, batch_from, result_from

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

DEFAULT_DEADLINE_SECONDS = 120.0

# A container has 60 s for its answer (Amazon SageMaker developer guide, "How containers serve requests"); a client that
# gives up earlier leaves it working for nobody.
_READ_TIMEOUT_SECONDS = 70
_CONNECT_TIMEOUT_SECONDS = 10

_SHORTEST_WAIT_SECONDS = 0.05
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 8.0
# Callers who were told the same time must not all come back at that time.
_JITTER = 0.5


class Runtime(Protocol):
    """The one call of the `sagemaker-runtime` client that is used."""

    def invoke_endpoint(
        self,
        *,
        EndpointName: str,  # noqa: N803
        Body: bytes,  # noqa: N803
        ContentType: str,  # noqa: N803
        Accept: str,  # noqa: N803
    ) -> Any:
        """Send one request to the endpoint."""


class DecisionClient:
    """Asks one endpoint.

    A busy endpoint is asked again when it says that it has a place (`retry_after_ms` of its answer, and a random part
    on top), until the deadline. A wrong request is sent once. The SDK's own retries are off: a slow decision that is
    sent again only makes the queue longer.

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
        How long one call goes on asking a busy endpoint, in seconds, above 0. Default: 120. No attempt starts later;
        one that is under way is awaited, at most 70 s.
    on_wait:
        Called before each wait with its length in seconds and the endpoint's reason, to log or show it.
    runtime, clock, sleep, random:
        Replace the boto3 client, `time.monotonic`, `time.sleep` and `random.random` in tests.

    Raises
    ------
    EndpointUnavailable
        If there is no region, or the session's profile does not exist.

    Examples
    --------
    >>> import io
    >>> from decision_client.examples import EXAMPLE_DECISION, SAMPLE_ANSWER
    >>> class Stub:
    ...     def invoke_endpoint(self, *, EndpointName, Body, ContentType, Accept):
    ...         return {"Body": io.BytesIO(SAMPLE_ANSWER)}
    >>> client = DecisionClient("decisions-dev", runtime=Stub())
    >>> client.score(EXAMPLE_DECISION).probabilities
    {'account-access': 0.75, 'billing': 0.25}
    """

    def __init__(
        self,
        endpoint_name: str,
        *,
        session: boto3.Session | None = None,
        region: str | None = None,
        endpoint_url: str | None = None,
        deadline_seconds: float = DEFAULT_DEADLINE_SECONDS,
        on_wait: Callable[[float, str], None] | None = None,
        runtime: Runtime | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        random: Callable[[], float] = random_numbers.random,
    ) -> None:
        if deadline_seconds <= 0:
            raise ValueError(f"deadline_seconds is {deadline_seconds}: give the seconds to wait for an answer, above 0")
        self.endpoint_name = endpoint_name
        self._deadline_seconds = deadline_seconds
        self._on_wait = on_wait
        self._runtime = runtime or _connect(session, region, endpoint_url)
        self._clock = clock
        self._sleep = sleep
        self._random = random

    def score(self, decision: Decision) -> DecisionResult:
        """Ask one decision.

        Raises
        ------
        RequestRefused
            If the endpoint does not accept the decision.
        EndpointBusy
            If it was busy until the deadline.
        EndpointUnavailable
            If there is no endpoint, or it failed.
        """
        body = self.ask(request_for_one(decision))
        try:
            return result_from(body)
        except NotAnAnswer as error:
            raise self._no_decision_endpoint(error) from error

    def score_all(self, decisions: Sequence[Decision]) -> BatchResult:
        """Ask several decisions about one state in one request: the state is evaluated once for all of them.

        Raises
        ------
        RequestRefused
            If the endpoint does not accept one of them, or their states differ.
        EndpointBusy
            If it was busy until the deadline.
        EndpointUnavailable
            If there is no endpoint, or it failed.
        """
        body = self.ask(request_for_all(decisions))
        try:
            return batch_from(body)
        except NotAnAnswer as error:
            raise self._no_decision_endpoint(error) from error

    def ask(self, body: bytes) -> bytes:
        """Send a request body as it is, wait as `score` does, and return the answer's body as it came."""
        started = self._clock()
        attempts = 0
        while True:
            attempts += 1
            try:
                answer: bytes = self._runtime.invoke_endpoint(
                    EndpointName=self.endpoint_name,
                    Body=body,
                    ContentType="application/json",
                    Accept="application/json",
                )["Body"].read()
            except ClientError as error:
                failure = read_failure(self.endpoint_name, error)
                wait = self._wait_before_next(failure, attempts)
                waited = self._clock() - started
                if not failure.passes or waited + wait > self._deadline_seconds:
                    raise self._error(failure, attempts, waited, wait) from error
            except BotoCoreError as error:
                raise EndpointUnavailable(_no_connection(self.endpoint_name, error)) from error
            else:
                return answer
            if self._on_wait:
                self._on_wait(wait, failure.sentence)
            self._sleep(wait)

    def _wait_before_next(self, failure: Failure, attempts: int) -> float:
        """Seconds: never less than the endpoint asked for, longer each time where it did not say."""
        asked = failure.retry_after_seconds
        if asked is None:
            # The exponent stops growing before a float cannot hold it.
            asked = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2 ** min(attempts - 1, 10))
        return max(asked, _SHORTEST_WAIT_SECONDS) * (1 + _JITTER * self._random())

    def _error(self, failure: Failure, attempts: int, waited: float, wait: float) -> DecisionError:
        if failure.kind is Kind.REFUSED:
            return RequestRefused(failure.sentence, status=failure.status)
        if failure.kind is Kind.BUSY:
            return EndpointBusy(
                f"endpoint {self.endpoint_name!r} was busy for {waited:.1f} s, in {_times(attempts)} "
                f"({failure.sentence}), and another {wait:.1f} s would pass the deadline of "
                f"{self._deadline_seconds:g} s: ask again later, or give it more instances",
                attempts=attempts,
                retry_after_seconds=wait,
            )
        if failure.kind is Kind.NOT_REACHED:
            return EndpointUnavailable(f"{failure.sentence} (asked for {waited:.1f} s, in {_times(attempts)})")
        return EndpointUnavailable(failure.sentence)

    def _no_decision_endpoint(self, error: NotAnAnswer) -> EndpointUnavailable:
        return EndpointUnavailable(
            f"endpoint {self.endpoint_name!r} answered, but not as a decision endpoint does: {error}; name one whose "
            "container is the decision adapter"
        )


def _connect(session: boto3.Session | None, region: str | None, endpoint_url: str | None) -> SageMakerRuntimeClient:
    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=_CONNECT_TIMEOUT_SECONDS,
        read_timeout=_READ_TIMEOUT_SECONDS,
        # A proxy of the environment cannot reach this machine's own loopback.
        proxies={} if _is_loopback(endpoint_url) else None,
    )
    try:
        return (session or boto3.Session()).client(
            "sagemaker-runtime", region_name=region, endpoint_url=endpoint_url, config=config
        )
    except NoRegionError as error:
        raise EndpointUnavailable(
            "no region is set: name one (--region, or region= in Python), or set AWS_REGION"
        ) from error
    except (BotoCoreError, ValueError) as error:
        raise EndpointUnavailable(f"no connection can be set up: {_sentence(error)}") from error


def _is_loopback(url: str | None) -> bool:
    host = urlsplit(url or "").hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _no_connection(endpoint_name: str, error: BotoCoreError) -> str:
    if isinstance(error, NoCredentialsError):
        return f"there are no AWS credentials to invoke endpoint {endpoint_name!r} with: sign in, or name a profile"
    return f"endpoint {endpoint_name!r} gave no answer: {_sentence(error)}"


def _sentence(error: Exception) -> str:
    return str(error).strip().rstrip(".")


def _times(attempts: int) -> str:
    return "1 attempt" if attempts == 1 else f"{attempts} attempts"
