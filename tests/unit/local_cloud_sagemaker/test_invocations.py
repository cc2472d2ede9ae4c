"""InvokeEndpoint: what reaches the container, what comes back, and how its errors are spelt."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.hosting import Hosting

MAX_BODY_BYTES = 6_291_456


@pytest.fixture(scope="module")
def endpoint(hosting: Hosting) -> str:
    return hosting.deploy()


def test_a_container_sees_content_type_accept_and_custom_attributes_only(hosting: Hosting, endpoint: str) -> None:
    hosting.runtime.meta.events.register(
        "before-send.sagemaker-runtime.InvokeEndpoint",
        lambda request, **_: request.headers.update({"X-Own": "dropped"}),
        unique_id="own-header",
    )
    try:
        headers = hosting.ask(endpoint)["headers"]
    finally:
        hosting.runtime.meta.events.unregister("before-send.sagemaker-runtime.InvokeEndpoint", unique_id="own-header")

    assert set(headers) <= {"host", "accept-encoding", "content-length", "content-type", "accept"}


def test_a_callers_custom_attributes_go_there_and_back(hosting: Hosting, endpoint: str) -> None:
    response = hosting.runtime.invoke_endpoint(EndpointName=endpoint, Body=b"{}", CustomAttributes="trace=1")

    assert response["CustomAttributes"] == "trace=1"
    assert "x-private" not in response["ResponseMetadata"]["HTTPHeaders"]


@pytest.mark.parametrize("content_type", ["application/json", "application/jsonlines", "text/plain; charset=utf-8"])
def test_the_containers_content_type_is_kept(hosting: Hosting, endpoint: str, content_type: str) -> None:
    response = hosting.runtime.invoke_endpoint(
        EndpointName=endpoint, Body=f'{{"body": "answer", "type": "{content_type}"}}'.encode()
    )

    assert response["ContentType"] == content_type
    assert response["InvokedProductionVariant"] == "main"
    assert response["Body"].read() == b"answer"


@pytest.mark.parametrize(("status", "who"), [(400, "client"), (404, "client"), (500, "server"), (503, "server")])
def test_an_error_of_the_container_is_a_model_error(hosting: Hosting, endpoint: str, status: int, who: str) -> None:
    with pytest.raises(hosting.runtime.exceptions.ModelError) as failed:
        hosting.ask(endpoint, status=status, body='{"error": "busy"}')

    response: Mapping[str, Any] = failed.value.response
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 424
    assert response["OriginalStatusCode"] == status
    assert response["OriginalMessage"] == '{"error": "busy"}'
    assert response["LogStreamArn"].endswith(f":log-group:/aws/sagemaker/Endpoints/{endpoint}")
    assert f"Received {who} error ({status}) from primary" in response["Error"]["Message"]


def test_a_container_that_dies_while_answering_is_a_model_error_without_status(hosting: Hosting) -> None:
    with pytest.raises(hosting.runtime.exceptions.ModelError) as failed:
        hosting.ask(hosting.deploy(), exit=True)

    response: Mapping[str, Any] = failed.value.response
    assert response["OriginalStatusCode"] == 0


def test_an_unknown_endpoint_is_a_validation_error(hosting: Hosting) -> None:
    with pytest.raises(ClientError, match="not found") as refused:
        hosting.ask("unknown")

    assert refused.value.response["Error"]["Code"] == "ValidationError"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_an_unknown_variant_is_a_validation_error(hosting: Hosting, endpoint: str) -> None:
    with pytest.raises(ClientError, match="has the variant main only"):
        hosting.runtime.invoke_endpoint(EndpointName=endpoint, Body=b"{}", TargetVariant="other")


def test_a_body_of_the_limit_passes_and_one_byte_more_is_refused(hosting: Hosting, endpoint: str) -> None:
    body = b'{"body": "ok"' + b" " * (MAX_BODY_BYTES - 14) + b"}"

    assert hosting.runtime.invoke_endpoint(EndpointName=endpoint, Body=body)["Body"].read() == b"ok"
    with pytest.raises(ClientError) as refused:
        hosting.runtime.invoke_endpoint(EndpointName=endpoint, Body=body + b" ")

    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 413


def test_many_requests_are_answered_at_once_each_with_its_own_answer(hosting: Hosting, endpoint: str) -> None:
    started = time.monotonic()

    with ThreadPoolExecutor(30) as callers:
        answers = list(callers.map(lambda n: hosting.ask(endpoint, seconds=1, body=str(n)), range(30)))

    assert answers == list(range(30))
    assert time.monotonic() - started < 15  # one after another they would take 30 s


def test_invocations_are_counted_and_timed(hosting: Hosting) -> None:
    name = hosting.deploy()
    hosting.ask(name)
    for status in (400, 503):
        with pytest.raises(ClientError):
            hosting.ask(name, status=status)

    sums = {metric: statistic(hosting, name, metric, "Sum") for metric in COUNTED}

    assert sums == {
        "Invocations": 3,
        "Invocation4XXErrors": 1,
        "Invocation5XXErrors": 1,
        "InvocationModelErrors": 2,
    }
    assert 0 < statistic(hosting, name, "ModelLatency", "Maximum") < MINUTE_MICROSECONDS


COUNTED = ("Invocations", "Invocation4XXErrors", "Invocation5XXErrors", "InvocationModelErrors")
MINUTE_MICROSECONDS = 60_000_000


def statistic(hosting: Hosting, endpoint: str, metric: str, name: str) -> float:
    now = datetime.now(UTC)
    (point,) = hosting.cloudwatch.get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=metric,
        Dimensions=[{"Name": "EndpointName", "Value": endpoint}, {"Name": "VariantName", "Value": "main"}],
        StartTime=now - timedelta(minutes=10),
        EndTime=now + timedelta(minutes=1),
        Period=86400,
        Statistics=[name],
    )["Datapoints"]
    return float(point[name])
