"""Whatever the other end answers, a call gives a typed answer or raises one of the client's own errors."""

from __future__ import annotations

import copy
import json
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from hypothesis import given, settings
from hypothesis import strategies as st

from decision_client import Answers, DecisionClient, DecisionError, DecisionResult, RetryBudget
from decision_client.examples import (
    EXAMPLE_DECISION,
    EXAMPLE_QUESTIONS,
    EXAMPLE_STATE,
    SAMPLE_ANSWER,
    SAMPLE_ANSWERS,
)
from decision_client.retrying import Time
from decision_client.sagemaker import SageMakerEndpoint, connect

NEVER_AGAIN = RetryBudget(burst=0)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """A right answer with one value replaced, or gone."""
    document = json.loads(draw(st.sampled_from([SAMPLE_ANSWER, SAMPLE_ANSWERS])))
    places: list[tuple[Any, Any]] = []
    _collect(document, places)
    holder, key = draw(st.sampled_from(places))
    if draw(st.booleans()):
        holder[key] = copy.deepcopy(draw(anything))
    else:
        del holder[key]
    return json.dumps(document).encode()


def _collect(value: Any, places: list[tuple[Any, Any]]) -> None:
    keys = value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        places.append((value, key))
        _collect(value[key], places)


bodies = st.binary(max_size=200) | spoilt() | anything.map(lambda value: json.dumps(value).encode())


def _try(client: DecisionClient) -> None:
    for ask, kind in (
        (lambda: client.score(EXAMPLE_DECISION), DecisionResult),
        (lambda: client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS), Answers),
    ):
        _one(ask, kind)


def _one(ask: Callable[[], object], kind: type) -> None:
    try:
        answer = ask()
    except DecisionError as error:
        answer = error
    if isinstance(answer, DecisionError):
        assert str(answer).strip()
        return
    assert isinstance(answer, kind)
    if isinstance(answer, DecisionResult):
        assert answer.choice in answer.probabilities


class Wire:
    """boto3's client with its own parsers, and an answer of ours in place of the network."""

    def __init__(self) -> None:
        session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
        runtime = connect(session, None, None, 1)
        # The stubs do not know that an answer to this event is used in place of the network's.
        runtime.meta.events.register("before-send", self._answer)  # type: ignore[arg-type]
        self.client = _client(SageMakerEndpoint("decisions-dev", runtime))
        self.status, self.headers, self.body = 200, dict[str, str](), b""

    def _answer(self, **_: Any) -> AWSResponse:
        headers = HTTPHeaders()
        for name, value in self.headers.items():
            headers[name] = value
        return AWSResponse("https://aws", self.status, headers, _Raw(self.body))


class _Raw:
    """What botocore reads of urllib3's response."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def read(self, amt: int | None = None) -> bytes:
        body, self._body = self._body, b""
        return body

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        yield self.read()

    def close(self) -> None:
        pass


def _client(transport: Any) -> DecisionClient:
    return DecisionClient(
        "x", transport=transport, retry_budget=NEVER_AGAIN, deadline_seconds=2, time=Time(random=lambda: 0)
    )


@pytest.fixture(scope="module")
def wire() -> Wire:
    return Wire()


@settings(deadline=None, max_examples=150)
@given(body=bodies)
def test_any_body_of_an_answer_is_read_or_refused(wire: Wire, body: bytes) -> None:
    wire.status, wire.headers, wire.body = 200, {"Content-Type": "application/json"}, body

    _try(wire.client)


@settings(deadline=None, max_examples=150)
@given(
    status=st.sampled_from([400, 403, 404, 424, 429, 500, 503, 530, 599]),
    code=st.sampled_from(["ModelError", "ThrottlingException", "ValidationError", "ExpiredTokenException", ""])
    | st.text(st.characters(codec="latin-1", exclude_categories=["Cc"])),
    body=bodies
    | st.fixed_dictionaries({}, optional={"OriginalStatusCode": anything, "OriginalMessage": anything}).map(
        lambda fields: json.dumps(fields).encode()
    )
    | st.builds(
        lambda status, body: json.dumps({"OriginalStatusCode": status, "OriginalMessage": json.dumps(body)}).encode(),
        st.sampled_from([0, 400, 503]),
        st.fixed_dictionaries({}, optional=dict.fromkeys(("error", "retryable", "retry_after_ms"), anything)),
    ),
)
def test_any_error_of_sagemaker_is_one_of_ours(wire: Wire, status: int, code: str, body: bytes) -> None:
    wire.status, wire.body = status, body
    wire.headers = {"Content-Type": "application/json", "x-amzn-ErrorType": code}

    _try(wire.client)


class Server:
    """A socket that reads a request and answers with bytes of ours, which need be no HTTP at all."""

    def __init__(self) -> None:
        self.answer = b""
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()
        self.client = DecisionClient.from_url(
            f"http://127.0.0.1:{self._listener.getsockname()[1]}", retry_budget=NEVER_AGAIN, deadline_seconds=2
        )

    def _serve(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                connection.settimeout(5)
                head = b""
                while b"\r\n\r\n" not in head:
                    piece = connection.recv(65536)
                    if not piece:
                        break
                    head += piece
                if head == b"stop":
                    return
                start, _, rest = head.partition(b"\r\n\r\n")
                length = int(start.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                while len(rest) < length:
                    rest += connection.recv(65536)
                connection.sendall(self.answer)

    def stop(self) -> None:
        with socket.create_connection(self._listener.getsockname()) as last:
            last.sendall(b"stop")
            last.shutdown(socket.SHUT_WR)
            self._thread.join()
        self._listener.close()
        self.client.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.stop()


@settings(deadline=None, max_examples=100)
@given(
    answer=st.binary(max_size=200)
    | st.builds(
        lambda status, headers, body: b"HTTP/1.1 %d x\r\n%s\r\n%s" % (status, headers, body),
        st.integers(200, 599),
        st.sampled_from(
            [
                b"",
                b"Content-Length: 7\r\n",
                b"Content-Length: -1\r\n",
                b"Content-Length: x\r\n",
                b"Transfer-Encoding: chunked\r\n",
                b"Content-Encoding: gzip\r\n",
                b"Location: http://[\r\n",
            ]
        ),
        bodies,
    )
)
def test_any_bytes_of_a_plain_server_are_read_or_refused(server: Server, answer: bytes) -> None:
    server.answer = answer

    _try(server.client)
