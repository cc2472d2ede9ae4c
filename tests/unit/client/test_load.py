"""Many callers at once: one pool, a bound on what is under way, and retries that do not deepen an overload."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from decision_client import DecisionClient, EndpointBusy, EndpointUnavailable, RetryBudget
from decision_client.examples import SAMPLE_ANSWER
from decision_client.failures import AttemptFailed, Failure, Kind
from decision_client.retrying import budget_of
from tests.support.waiting import PATIENCE_SECONDS, eventually

ClientOf = Callable[..., tuple[Any, Any]]


@dataclass
class Gate:
    """A transport that answers once it is opened, and counts how many requests wait for that at a time."""

    title: str = "the gate"
    address: str = "gate"
    opened: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    inside: int = 0
    most: int = 0
    sent: int = 0
    seconds: list[float] = field(default_factory=list)
    failure: Failure | None = None

    def send(self, body: bytes, *, seconds: float) -> bytes:
        with self.lock:
            self.inside += 1
            self.sent += 1
            self.most = max(self.most, self.inside)
            self.seconds.append(seconds)
        self.opened.wait(PATIENCE_SECONDS)
        with self.lock:
            self.inside -= 1
        if self.failure:
            raise AttemptFailed(self.failure)
        return body

    async def reached(self, count: int) -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            while self.inside < count:
                await asyncio.sleep(0.001)

    def close(self) -> None:
        self.opened.set()


def test_no_more_requests_are_under_way_than_the_client_may_have() -> None:
    gate = Gate()
    with DecisionClient("x", transport=gate, max_concurrency=3) as client, ThreadPoolExecutor(12) as callers:
        asked = [callers.submit(client.ask, b"%d" % number) for number in range(12)]
        eventually(lambda: gate.inside == 3, "three requests under way")
        gate.opened.set()

        assert [each.result() for each in asked] == [b"%d" % number for number in range(12)]
    assert gate.most == 3


def test_hundreds_of_awaited_calls_share_the_clients_threads() -> None:
    gate = Gate()

    async def ask_all(client: DecisionClient) -> list[bytes]:
        calls = [asyncio.create_task(client.aask(b"%d" % number)) for number in range(300)]
        await gate.reached(8)
        gate.opened.set()
        return await asyncio.gather(*calls)

    with DecisionClient("x", transport=gate, max_concurrency=8) as client:
        assert asyncio.run(ask_all(client)) == [b"%d" % number for number in range(300)]
    assert gate.most == 8


def test_a_call_that_gets_no_turn_until_its_deadline_says_so() -> None:
    gate = Gate()
    with DecisionClient("x", transport=gate, max_concurrency=1) as client, ThreadPoolExecutor(1) as other:
        other.submit(client.ask, b"")
        eventually(lambda: gate.inside == 1, "a request under way")

        with pytest.raises(EndpointBusy, match="raise max_concurrency"):
            client.ask(b"", deadline_seconds=0.01)
        gate.opened.set()


def test_an_awaited_call_ends_at_its_deadline_in_the_middle_of_an_attempt() -> None:
    gate = Gate()
    with (
        DecisionClient("x", transport=gate) as client,
        pytest.raises(EndpointUnavailable, match=r"no answer until the deadline of 0\.01 s"),
    ):
        asyncio.run(client.aask(b"", deadline_seconds=0.01))


def test_a_cancelled_call_ends_at_once_and_sends_nothing_more() -> None:
    gate = Gate(failure=Failure(Kind.BUSY, "full", 503, 0.001))

    async def cancelled(client: DecisionClient) -> None:
        call = asyncio.create_task(client.aask(b""))
        await gate.reached(1)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with DecisionClient("x", transport=gate, max_concurrency=1) as client:
        asyncio.run(cancelled(client))
        gate.opened.set()
        eventually(lambda: gate.inside == 0, "the attempt's end")
        gate.failure = None
        # Its place is free again.
        assert client.ask(b"next") == b"next"
    assert gate.sent == 2


def test_a_call_cancelled_while_it_waits_sends_nothing_more() -> None:
    gate = Gate(failure=Failure(Kind.BUSY, "full", 503, 60))
    gate.opened.set()

    async def cancelled(client: DecisionClient) -> None:
        waiting = asyncio.Event()
        client._on_wait = lambda seconds, reason: waiting.set()
        call = asyncio.create_task(client.aask(b""))
        await waiting.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    with DecisionClient("x", transport=gate) as client:
        asyncio.run(cancelled(client))
    assert gate.sent == 1


def test_callers_together_retry_no_more_often_than_their_budget(
    client_of: ClientOf, busy: Callable[..., ClientError], fake_time: Any
) -> None:
    budget = RetryBudget(burst=3, share=0.5, per_second=0, clock=fake_time.clock)
    client, runtime = client_of(*[busy(10)] * 100, retry_budget=budget)

    for _ in range(20):
        with pytest.raises(EndpointBusy, match="used up its retries"):
            client.ask(b"")

    # 20 calls, the 3 retries it began with, and one for every two calls.
    assert 20 + 3 + 20 * 0.5 - 1 <= len(runtime.bodies) <= 20 + 3 + 20 * 0.5


def test_time_brings_retries_back(fake_time: Any) -> None:
    budget = RetryBudget(burst=2, share=0, per_second=0.5, clock=fake_time.clock)
    while budget.take():
        pass

    fake_time.sleep(2)

    assert [budget.take(), budget.take()] == [True, False]


def test_an_answered_call_costs_no_retry(client_of: ClientOf, fake_time: Any) -> None:
    budget = RetryBudget(burst=1, per_second=0, clock=fake_time.clock)
    client, _ = client_of(*[SAMPLE_ANSWER] * 5, retry_budget=budget)

    for _ in range(5):
        client.ask(b"")

    assert budget.take()


def test_all_clients_of_an_endpoint_share_one_budget_and_no_other_endpoint_does() -> None:
    held = budget_of("https://runtime one")

    assert budget_of("https://runtime one") is held
    assert budget_of("https://runtime two") is not held


@pytest.mark.parametrize(("burst", "share", "per_second"), [(-1, 0, 0), (1, -1, 0), (1, 0, float("nan"))])
def test_a_budget_of_senseless_numbers_is_refused(burst: float, share: float, per_second: float) -> None:
    with pytest.raises(ValueError, match="0 or more"):
        RetryBudget(burst=burst, share=share, per_second=per_second)


def test_a_budget_of_nothing_never_retries(client_of: ClientOf, busy: Callable[..., ClientError]) -> None:
    client, runtime = client_of(busy(10), retry_budget=RetryBudget(burst=0))

    with pytest.raises(EndpointBusy, match="in 1 attempt "):
        client.ask(b"")

    assert len(runtime.bodies) == 1


def test_a_client_that_may_send_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        DecisionClient("x", transport=Gate(), max_concurrency=0)


def test_each_call_may_name_its_own_deadline(client_of: ClientOf, busy: Callable[..., ClientError]) -> None:
    client, _ = client_of(busy(2000), deadline_seconds=60)

    with pytest.raises(EndpointBusy, match="the deadline of 1 s"):
        client.ask(b"", deadline_seconds=1)
