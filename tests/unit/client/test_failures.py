"""Every way an endpoint can say no becomes one of three errors, with one sentence, and is not sent again."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    UnauthorizedSSOTokenError,
)

from decision_client import Decision, DecisionClient, EndpointUnavailable, Option, RequestRefused
from decision_client.examples import EXAMPLE_DECISION
from decision_client.sagemaker import connect

ClientOf = Callable[..., tuple[Any, Any]]
FromContainer = Callable[[int, str], ClientError]
FromSageMaker = Callable[[str, int, str], ClientError]
OPTIONS = (Option("yes", "Yes."), Option("no", "No."))


@pytest.mark.parametrize("status", [400, 408, 411, 413, 415, 422])
def test_a_4xx_of_the_container_is_sent_once_and_comes_back_in_its_own_words(
    client_of: ClientOf, from_container: FromContainer, status: int
) -> None:
    client, runtime = client_of(from_container(status, json.dumps({"error": "give at least 2 options"})))

    with pytest.raises(RequestRefused, match=r"^give at least 2 options$") as caught:
        client.score(EXAMPLE_DECISION)

    assert caught.value.status == status
    assert len(runtime.bodies) == 1


def test_a_failed_engine_is_unavailable_and_points_to_its_log(
    client_of: ClientOf, from_container: FromContainer
) -> None:
    client, runtime = client_of(from_container(500, json.dumps({"error": "logits are not finite"})))

    with pytest.raises(EndpointUnavailable, match="HTTP 500: logits are not finite; its log is arn:log-stream"):
        client.score(EXAMPLE_DECISION)

    assert len(runtime.bodies) == 1


def test_a_container_that_gave_no_answer_in_time_has_no_status_to_show(
    client_of: ClientOf, from_sagemaker: FromSageMaker
) -> None:
    client, _ = client_of(from_sagemaker("ModelError", 424, "Your invocation timed out"))

    with pytest.raises(EndpointUnavailable, match="gave no answer: Your invocation timed out"):
        client.score(EXAMPLE_DECISION)


def test_a_long_page_of_a_proxy_is_cut_to_a_readable_length(client_of: ClientOf, from_container: FromContainer) -> None:
    client, _ = client_of(from_container(502, "<p>bad gateway</p>\n" * 1000))

    with pytest.raises(EndpointUnavailable) as caught:
        client.score(EXAMPLE_DECISION)

    assert len(str(caught.value)) < 600
    assert "\n" not in str(caught.value)


def test_a_missing_endpoint_says_what_to_check(client_of: ClientOf, from_sagemaker: FromSageMaker) -> None:
    message = "Endpoint decisions-dev of account 123456789012 not found."
    client, _ = client_of(from_sagemaker("ValidationError", 400, message))

    with pytest.raises(EndpointUnavailable, match=r"there is no endpoint 'decisions-dev' here.*region"):
        client.score(EXAMPLE_DECISION)


def test_a_body_too_large_for_sagemaker_is_a_refused_request(
    client_of: ClientOf, from_sagemaker: FromSageMaker
) -> None:
    client, _ = client_of(from_sagemaker("ValidationError", 400, "Body is longer than 6291456 bytes"))

    with pytest.raises(RequestRefused, match="6291456"):
        client.score(EXAMPLE_DECISION)


def test_credentials_that_may_not_invoke_are_told_what_to_ask_for(
    client_of: ClientOf, from_sagemaker: FromSageMaker
) -> None:
    client, _ = client_of(from_sagemaker("AccessDeniedException", 403, "not authorized"))

    with pytest.raises(EndpointUnavailable, match="sagemaker:InvokeEndpoint"):
        client.score(EXAMPLE_DECISION)


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (EndpointConnectionError(endpoint_url="https://runtime"), "gave no answer: Could not connect"),
        (ConnectTimeoutError(endpoint_url="https://runtime"), "gave no answer: Connect timeout"),
        (NoCredentialsError(), "no AWS credentials"),
        (UnauthorizedSSOTokenError(), "sign in again"),
    ],
)
def test_no_connection_is_one_sentence(client_of: ClientOf, error: Exception, sentence: str) -> None:
    client, _ = client_of(error)

    with pytest.raises(EndpointUnavailable, match=sentence):
        client.score(EXAMPLE_DECISION)


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"hello", "no JSON"),
        (b"[]", "no JSON object"),
        (b'{"choices": []}', "no field 'result'"),
        (b'{"result": {"id": "support-route", "option_ids": ["a"]}}', "no field 'probabilities'"),
        (b'{"result": {"id": "x", "option_ids": ["a"], "probabilities": [0.5, 0.5]}}', "1 option ids, and 2 numbers"),
        (b'{"result": {"id": "x", "option_ids": ["a", "a"], "probabilities": [0.5, 0.5]}}', "one of them twice"),
        (b'{"result": {"id": "x", "option_ids": ["a"], "probabilities": [NaN]}}', "it has NaN"),
        (b'{"result": {"id": "x", "option_ids": ["a"], "probabilities": [2]}}', "a number from 0 to 1 belongs"),
        (b'{"result": 7}', "'result' is a number where an object belongs"),
    ],
)
def test_an_endpoint_that_is_no_decision_endpoint_is_said_to_be_none(
    client_of: ClientOf, body: bytes, what: str
) -> None:
    client, _ = client_of(body)

    with pytest.raises(EndpointUnavailable, match=f"not as a decision endpoint does: .*{what}"):
        client.score(EXAMPLE_DECISION)


@pytest.mark.parametrize("state", [float("nan"), datetime.date(2026, 1, 1), {"x": b"bytes"}])
def test_a_state_that_json_cannot_hold_is_refused_before_it_is_sent(client_of: ClientOf, state: Any) -> None:
    client, runtime = client_of()

    with pytest.raises(RequestRefused, match="cannot be written as JSON"):
        client.score(Decision("d", state, "Is it?", OPTIONS))

    assert runtime.bodies == []


def test_a_missing_region_says_where_to_set_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")

    with pytest.raises(EndpointUnavailable, match="AWS_REGION"):
        DecisionClient("decisions-dev")


def test_the_sdk_neither_retries_nor_gives_up_before_the_container_must_answer() -> None:
    config = connect(None, "us-east-1", None, 200).meta.config

    assert config.retries["total_max_attempts"] == 1  # type: ignore[attr-defined]
    assert config.read_timeout > 60  # type: ignore[attr-defined]
