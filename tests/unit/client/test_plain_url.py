"""An adapter by its URL."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from decision_client import DecisionClient, EndpointBusy, EndpointUnavailable, RequestRefused
from decision_client.examples import EXAMPLE_DECISION, EXAMPLE_QUESTIONS, EXAMPLE_STATE


@pytest.fixture
def client(runtime_api: Any) -> Iterator[DecisionClient]:
    with DecisionClient.from_url(runtime_api.url, key="s3cret", deadline_seconds=1) as client:
        yield client


def test_both_shapes_go_to_the_one_route_with_the_key(client: DecisionClient, runtime_api: Any) -> None:
    assert client.score(EXAMPLE_DECISION).choice == "account-access"
    assert client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS).choice("team").choice == "billing"

    assert runtime_api.paths == ["/invocations", "/invocations"]
    assert runtime_api.authorizations == ["Bearer s3cret"] * 2


def test_without_a_key_none_is_sent(runtime_api: Any) -> None:
    with DecisionClient.from_url(runtime_api.url + "/invocations") as client:
        client.score(EXAMPLE_DECISION)

    assert (runtime_api.authorizations, runtime_api.paths) == ([None], ["/invocations"])


def test_a_busy_adapter_is_waited_for(client: DecisionClient, runtime_api: Any) -> None:
    runtime_api.status = 503
    runtime_api.body = json.dumps({"error": "the queue is full", "retryable": True, "retry_after_ms": 9000}).encode()

    with pytest.raises(EndpointBusy, match=r"was busy .*the queue is full"):
        client.score(EXAMPLE_DECISION)


@pytest.mark.parametrize(
    ("status", "body", "error", "sentence"),
    [
        (400, b'{"error": "give 2 options"}', RequestRefused, "^give 2 options$"),
        (429, b"slow down", RequestRefused, "^slow down$"),
        (401, b'{"error": "a key is needed"}', EndpointUnavailable, "a key is needed.*DECISION_API_KEY"),
        (404, b"nothing here", EndpointUnavailable, "check the URL"),
        (302, b"", EndpointUnavailable, "HTTP 302"),
        (500, b'{"error": "the engine died"}', EndpointUnavailable, "HTTP 500: the engine died"),
        (503, b'{"error": "loading failed", "retryable": false}', EndpointUnavailable, "loading failed"),
    ],
)
def test_what_an_adapter_refuses_is_sent_once(
    client: DecisionClient, runtime_api: Any, status: int, body: bytes, error: type[Exception], sentence: str
) -> None:
    runtime_api.status, runtime_api.body = status, body
    runtime_api.headers = {"Location": "http://127.0.0.1:9/"}

    with pytest.raises(error, match=sentence):
        client.score(EXAMPLE_DECISION)

    assert len(runtime_api.received) == 1


def test_an_address_where_nobody_listens_says_what_to_do() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]

    with pytest.raises(EndpointUnavailable, match=f"nobody answers at http://127.0.0.1:{port} .*start the adapter"):
        DecisionClient.from_url(f"http://127.0.0.1:{port}").score(EXAMPLE_DECISION)


def test_a_deadline_ends_an_attempt_in_the_middle() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        DecisionClient.from_url(f"http://127.0.0.1:{silent.getsockname()[1]}", deadline_seconds=0.05) as client,
        pytest.raises(EndpointUnavailable, match=r"gave no answer within 0\.\d s"),
    ):
        client.score(EXAMPLE_DECISION)


def test_an_answer_that_drips_ends_at_the_deadline_too() -> None:
    stopped = threading.Event()

    def drip(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                while not stopped.wait(0.01):
                    connection.sendall(b"1\r\nx\r\n")
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=drip, args=(server,))
        thread.start()
        with (
            DecisionClient.from_url(f"http://127.0.0.1:{server.getsockname()[1]}", deadline_seconds=0.2) as client,
            pytest.raises(EndpointUnavailable, match="gave no answer within"),
        ):
            client.score(EXAMPLE_DECISION)
        stopped.set()
        thread.join()


@pytest.mark.parametrize(
    "url",
    ["127.0.0.1:8080", "ftp://x", "http://", "http://x:99999", "http://user:secret@x", "http://x/?a=b", "http://["],
)
def test_what_is_no_url_of_an_adapter_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ValueError, match="URL") as caught:
        DecisionClient.from_url(url)

    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("key", ["", "a\nb", "schlüssel", " x"])
def test_a_key_that_no_header_carries_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ValueError, match=r"^the key is empty, or has characters that no HTTP header carries"):
        DecisionClient.from_url("http://127.0.0.1:1", key=key)
