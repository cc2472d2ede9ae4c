"""A busy container arrives as ModelError 424 with OriginalStatusCode 503; only the client can wait for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from decision_client import EndpointBusy, EndpointUnavailable
from decision_client.examples import EXAMPLE_DECISION, SAMPLE_ANSWER

Busy = Callable[..., ClientError]
ClientOf = Callable[..., tuple[Any, Any]]


def test_a_busy_endpoint_is_asked_again_after_the_time_it_names(
    client_of: ClientOf, busy: Busy, fake_time: Any
) -> None:
    client, runtime = client_of(busy(1500), busy(250), SAMPLE_ANSWER)

    assert client.score(EXAMPLE_DECISION).choice == "account-access"
    assert fake_time.waits == [1.5, 0.25]
    assert len(runtime.bodies) == 3
    assert len(set(runtime.bodies)) == 1


def test_jitter_only_lengthens_the_wait_the_endpoint_asked_for(client_of: ClientOf, busy: Busy, fake_time: Any) -> None:
    client, _ = client_of(busy(1000), SAMPLE_ANSWER, random=0.999)

    client.score(EXAMPLE_DECISION)

    assert 1.0 < fake_time.waits[0] <= 1.5


def test_without_a_hint_each_wait_is_longer_up_to_a_bound(client_of: ClientOf, busy: Busy, fake_time: Any) -> None:
    client, _ = client_of(*[busy() for _ in range(7)], SAMPLE_ANSWER)

    client.score(EXAMPLE_DECISION)

    assert fake_time.waits == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


@pytest.mark.parametrize("hint", [-1, True, "soon", float("inf"), [], 0])
def test_a_senseless_hint_neither_stalls_nor_spins(
    client_of: ClientOf, busy: Busy, fake_time: Any, hint: object
) -> None:
    client, _ = client_of(busy(hint), SAMPLE_ANSWER)

    client.score(EXAMPLE_DECISION)

    assert 0.05 <= fake_time.waits[0] <= 0.5


def test_a_503_whose_body_is_no_json_is_busy_too(
    client_of: ClientOf, from_container: Callable[[int, str], ClientError], fake_time: Any
) -> None:
    client, _ = client_of(from_container(503, "<html>busy</html>"), SAMPLE_ANSWER)

    client.score(EXAMPLE_DECISION)

    assert fake_time.waits == [0.5]


def test_an_endpoint_busy_past_the_deadline_is_an_error_that_says_how_long_it_was_asked(
    client_of: ClientOf, busy: Busy, fake_time: Any
) -> None:
    client, runtime = client_of(*[busy(4000) for _ in range(5)], deadline_seconds=10)

    with pytest.raises(EndpointBusy, match=r"busy for 8\.0 s, in 3 attempts \(the queue is full\)") as caught:
        client.score(EXAMPLE_DECISION)

    assert caught.value.attempts == len(runtime.bodies) == 3
    assert caught.value.retry_after_seconds == 4.0
    assert fake_time.now == 108.0


def test_a_wait_that_would_pass_the_deadline_is_not_begun(client_of: ClientOf, busy: Busy, fake_time: Any) -> None:
    client, _ = client_of(busy(60_000), deadline_seconds=10)

    with pytest.raises(EndpointBusy):
        client.score(EXAMPLE_DECISION)

    assert fake_time.waits == []


def test_an_endpoint_that_says_not_retryable_is_not_asked_again(
    client_of: ClientOf, from_container: Callable[[int, str], ClientError]
) -> None:
    client, runtime = client_of(from_container(503, '{"error": "the engine died", "retryable": false}'))

    with pytest.raises(EndpointUnavailable, match="the engine died"):
        client.score(EXAMPLE_DECISION)

    assert len(runtime.bodies) == 1


def test_each_wait_can_be_shown(client_of: ClientOf, busy: Busy) -> None:
    shown: list[tuple[float, str]] = []
    client, _ = client_of(busy(2000), SAMPLE_ANSWER, on_wait=lambda seconds, reason: shown.append((seconds, reason)))

    client.score(EXAMPLE_DECISION)

    assert shown == [(2.0, "the queue is full")]


def test_an_endpoint_without_a_healthy_instance_is_asked_until_the_deadline(
    client_of: ClientOf, from_sagemaker: Callable[[str, int, str], ClientError]
) -> None:
    down = from_sagemaker("ServiceUnavailable", 503, "no healthy instance")
    client, runtime = client_of(*[down] * 9, deadline_seconds=5)

    with pytest.raises(EndpointUnavailable, match="takes no requests now: no healthy instance"):
        client.score(EXAMPLE_DECISION)

    assert len(runtime.bodies) == 4


def test_a_model_that_is_being_loaded_is_waited_for(
    client_of: ClientOf, from_sagemaker: Callable[[str, int, str], ClientError]
) -> None:
    client, _ = client_of(from_sagemaker("ModelNotReadyException", 429, "not ready"), SAMPLE_ANSWER)

    assert client.score(EXAMPLE_DECISION).choice == "account-access"


def test_a_deadline_of_nothing_is_refused(client_of: ClientOf) -> None:
    with pytest.raises(ValueError, match="above 0"):
        client_of(SAMPLE_ANSWER, deadline_seconds=0)
