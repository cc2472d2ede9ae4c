"""`make soak` in small: what must hold however fast the machine is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bench.load import Outcome, learned, pool, send
from tests.support.adapter_process import AdapterProcess

CLIENTS = 40
REQUESTS = 200


@pytest.fixture(scope="module")
def server(environment: dict[str, str]) -> Iterator[AdapterProcess]:
    """The adapter with a deadline that it cannot keep for all of 40 clients, unless the machine is very fast."""
    with AdapterProcess({**environment, "DECISION_DEADLINE_SECONDS": "2"}) as process:
        yield process.ready()


@pytest.fixture(scope="module")
def outcomes(server: AdapterProcess) -> list[Outcome]:
    """What became of many requests about a few states, all clients at once."""
    asked = [learned(server.port, each) for each in pool(8, decisions=2)]
    with ThreadPoolExecutor(CLIENTS) as clients:
        sent = [clients.submit(send, server.port, asked[number % len(asked)], number) for number in range(REQUESTS)]
        return [each.result() for each in sent]


def test_under_load_every_request_is_answered_or_told_when_to_come_back(outcomes: list[Outcome]) -> None:
    assert not Counter(outcome.status for outcome in outcomes if outcome.status not in (200, 503))


def test_under_load_every_answer_is_for_its_own_request_and_exact_to_the_bit(outcomes: list[Outcome]) -> None:
    assert not Counter(outcome.problem for outcome in outcomes if outcome.problem)


def test_under_load_some_requests_are_answered(outcomes: list[Outcome]) -> None:
    assert any(outcome.status == 200 for outcome in outcomes)
