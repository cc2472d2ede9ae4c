"""A runtime API that answers from a script: a stub for the library, and HTTP on loopback for the command line."""

from __future__ import annotations

import io
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from botocore.exceptions import ClientError

from decision_client import DecisionClient, RetryBudget
from decision_client.examples import SAMPLE_ANSWER, SAMPLE_ANSWERS
from decision_client.retrying import Time
from decision_client.sagemaker import SageMakerEndpoint


@dataclass
class StubRuntime:
    """Answers each call with the next of `script`: bytes are an answer's body, an exception is raised."""

    script: list[bytes | Exception]
    bodies: list[bytes] = field(default_factory=list)

    def invoke_endpoint(self, *, EndpointName: str, Body: bytes, ContentType: str, Accept: str) -> Any:  # noqa: N803
        self.bodies.append(Body)
        step = self.script.pop(0)
        if isinstance(step, Exception):
            raise step
        return {"Body": io.BytesIO(step)}


@dataclass
class FakeTime:
    """A clock that only sleeping moves."""

    now: float = 100.0
    waits: list[float] = field(default_factory=list)

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    async def async_sleep(self, seconds: float) -> None:
        self.sleep(seconds)

    def time(self, random: float = 0.0) -> Time:
        """What a client goes by."""
        return Time(self.clock, self.sleep, self.async_sleep, lambda: random)


def _from_sagemaker(code: str, status: int, message: str) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "InvokeEndpoint")


def _from_container(status: int, body: str) -> ClientError:
    error = _from_sagemaker("ModelError", 424, f"Received server error ({status}) from primary")
    response: Any = error.response
    response.update({"OriginalStatusCode": status, "OriginalMessage": body, "LogStreamArn": "arn:log-stream"})
    return error


@pytest.fixture
def from_sagemaker() -> Callable[[str, int, str], ClientError]:
    """Makes an error of SageMaker itself from its code, HTTP status and message."""
    return _from_sagemaker


@pytest.fixture
def from_container() -> Callable[[int, str], ClientError]:
    """Makes the error that a container's own status and body become."""
    return _from_container


@pytest.fixture
def busy() -> Callable[..., ClientError]:
    """Makes the error of a busy container, with its hint in milliseconds, or without one."""

    def make(retry_after_ms: object = None) -> ClientError:
        hint = {} if retry_after_ms is None else {"retry_after_ms": retry_after_ms}
        return _from_container(503, json.dumps({"error": "the queue is full", "retryable": True, **hint}))

    return make


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def client_of(fake_time: FakeTime) -> Callable[..., tuple[DecisionClient, StubRuntime]]:
    """Makes a client of an endpoint that answers from a script, with the fake clock and no jitter unless asked."""

    def make(*script: bytes | Exception, random: float = 0.0, **options: Any) -> tuple[DecisionClient, StubRuntime]:
        runtime = StubRuntime(list(script))
        client = DecisionClient(
            "decisions-dev",
            transport=SageMakerEndpoint("decisions-dev", runtime),
            time=fake_time.time(random),
            # That of the process is shared by all tests.
            **{"retry_budget": RetryBudget(clock=fake_time.clock), **options},
        )
        return client, runtime

    return make


@dataclass
class RuntimeApi:
    """The runtime API, or an adapter, on loopback: answers with `status`, `headers` and `body`, and keeps what it got.

    Without a `body` it gives the sample answer of the request's shape.
    """

    port: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    body: bytes | None = None
    paths: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    received: list[bytes] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def answer_as_container(self, status: int, body: dict[str, object]) -> None:
        """Answer as SageMaker does when the container answered `status` with `body`."""
        self.fail(
            "ModelError",
            424,
            {"Message": "Received an error", "OriginalStatusCode": status, "OriginalMessage": json.dumps(body)},
        )

    def fail(self, code: str, status: int, body: dict[str, object]) -> None:
        self.status = status
        self.headers = {"Content-Type": "application/json", "x-amzn-ErrorType": code}
        self.body = json.dumps(body).encode()


@pytest.fixture
def runtime_api() -> Iterator[RuntimeApi]:
    api = RuntimeApi()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            api.paths.append(self.path)
            api.authorizations.append(self.headers["Authorization"])
            asked = self.rfile.read(int(self.headers["Content-Length"]))
            api.received.append(asked)
            sample = SAMPLE_ANSWERS if b'"questions"' in asked else SAMPLE_ANSWER
            body = sample if api.body is None else api.body
            self.send_response(api.status)
            for name, value in {**api.headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Keep the test's output its own."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        api.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield api
        server.shutdown()
        thread.join()
