"""The real boto3 client, with botocore's Stubber in AWS's place."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.response import StreamingBody
from botocore.stub import Stubber

from decision_client import DecisionClient, EndpointBusy, EndpointUnavailable, RequestRefused, RetryBudget
from decision_client.examples import EXAMPLE_DECISION, SAMPLE_ANSWER
from decision_client.sagemaker import SageMakerEndpoint, connect


class Aws:
    """A client whose calls are answered from a script; one call more than it has is an error of the Stubber's."""

    def __init__(self, runtime: Any, fake_time: Any) -> None:
        self.stubber = Stubber(runtime)
        self.stubber.activate()
        self.client = DecisionClient(
            "decisions-dev",
            transport=SageMakerEndpoint("decisions-dev", runtime),
            time=fake_time.time(),
            retry_budget=RetryBudget(clock=fake_time.clock),
        )

    def answers(self) -> Aws:
        self.stubber.add_response(
            "invoke_endpoint", {"Body": StreamingBody(io.BytesIO(SAMPLE_ANSWER), len(SAMPLE_ANSWER))}
        )
        return self

    def fails(self, code: str, status: int, message: str = "no", **fields: Any) -> Aws:
        self.stubber.add_client_error("invoke_endpoint", code, message, status, modeled_fields=fields)
        return self

    def container_fails(self, status: int, **body: object) -> Aws:
        return self.fails("ModelError", 424, OriginalStatusCode=status, OriginalMessage=json.dumps(body))


@pytest.fixture(scope="module")
def runtime() -> Any:
    """Making a boto3 client takes long: one serves all tests here, each with a Stubber of its own."""
    session = boto3.Session(aws_access_key_id="a", aws_secret_access_key="b", region_name="us-east-1")
    return connect(session, None, None, 8)


@pytest.fixture
def aws(runtime: Any, fake_time: Any) -> Iterator[Aws]:
    aws = Aws(runtime, fake_time)
    yield aws
    aws.stubber.deactivate()


def test_a_busy_container_is_asked_again_when_it_has_a_place(aws: Aws, fake_time: Any) -> None:
    aws.container_fails(503, error="full", retryable=True, retry_after_ms=700).answers()

    assert aws.client.score(EXAMPLE_DECISION).choice == "account-access"
    assert fake_time.waits == [0.7]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_wrong_request_is_sent_once(aws: Aws, status: int) -> None:
    aws.container_fails(status, error="give at least 2 options")

    with pytest.raises(RequestRefused, match=r"^give at least 2 options$") as caught:
        aws.client.score(EXAMPLE_DECISION)

    assert caught.value.status == status


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("ThrottlingException", 400),
        ("TooManyRequestsException", 429),
        ("ModelNotReadyException", 429),
        ("ServiceUnavailable", 503),
    ],
)
def test_what_reached_no_container_is_sent_again(aws: Aws, code: str, status: int, fake_time: Any) -> None:
    aws.fails(code, status).fails(code, status).answers()

    assert aws.client.score(EXAMPLE_DECISION).choice == "account-access"
    assert fake_time.waits == [0.5, 1.0]


@pytest.mark.parametrize(
    ("code", "status", "sentence"),
    [
        ("ExpiredTokenException", 403, r"credentials have expired \(no\): sign in again"),
        ("UnrecognizedClientException", 403, "does not know these credentials .*: sign in again"),
        ("InvalidSignatureException", 403, "set this machine's clock"),
        ("AccessDeniedException", 403, "have sagemaker:InvokeEndpoint granted"),
        ("InternalFailure", 500, "endpoint 'decisions-dev' failed: no"),
        ("InternalDependencyException", 530, "endpoint 'decisions-dev' failed: no"),
    ],
)
def test_what_asking_again_cannot_help_is_sent_once_and_says_the_next_step(
    aws: Aws, code: str, status: int, sentence: str
) -> None:
    aws.fails(code, status)

    with pytest.raises(EndpointUnavailable, match=sentence):
        aws.client.score(EXAMPLE_DECISION)


def test_a_deadline_that_ends_between_attempts_is_busy_with_the_time_to_come_back(aws: Aws) -> None:
    for _ in range(3):
        aws.container_fails(503, error="full", retryable=True, retry_after_ms=2000)

    with pytest.raises(EndpointBusy, match=r"busy for 4\.0 s, in 3 attempts.*pass the deadline of 5 s") as caught:
        aws.client.score(EXAMPLE_DECISION, deadline_seconds=5)

    assert caught.value.retry_after_seconds == 2.0
    aws.stubber.assert_no_pending_responses()


async def _asked(client: DecisionClient) -> str:
    return (await client.ascore(EXAMPLE_DECISION)).choice


def test_the_awaited_twin_waits_for_a_busy_container_too(aws: Aws, fake_time: Any) -> None:
    aws.container_fails(503, error="full", retryable=True, retry_after_ms=700).answers()

    assert asyncio.run(_asked(aws.client)) == "account-access"
    assert fake_time.waits == [0.7]
