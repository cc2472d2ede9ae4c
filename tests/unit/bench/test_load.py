from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tests.bench.load import Asked, pool, problem_of

WHEN = {"retry-after": "1"}


@pytest.fixture
def asked() -> Asked:
    (asked,) = pool(1, decisions=2)
    return replace(asked, probabilities=((0.25, 0.75), (0.5, 0.5)))


def _answer(asked: Asked, number: int, *probabilities: list[float]) -> bytes:
    results = [{"id": id, "probabilities": each} for id, each in zip(asked.ids(number), probabilities, strict=True)]
    return json.dumps({"results": results}).encode()


def test_the_right_answer_has_no_problem(asked: Asked) -> None:
    assert problem_of(200, {}, _answer(asked, 7, [0.25, 0.75], [0.5, 0.5]), asked, 7) is None


def test_the_answer_to_another_request_is_a_problem(asked: Asked) -> None:
    assert problem_of(200, {}, _answer(asked, 8, [0.25, 0.75], [0.5, 0.5]), asked, 7) is not None


def test_an_answer_that_is_off_by_the_last_bit_is_a_problem(asked: Asked) -> None:
    assert problem_of(200, {}, _answer(asked, 7, [0.25, 0.7500000000000001], [0.5, 0.5]), asked, 7) is not None


def test_a_refusal_that_says_when_to_come_back_has_no_problem(asked: Asked) -> None:
    assert problem_of(503, WHEN, b'{"error": "busy", "retryable": true, "retry_after_ms": 250}', asked, 7) is None


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        ({}, b'{"error": "busy", "retryable": true, "retry_after_ms": 250}'),
        (WHEN, b'{"error": "busy", "retryable": false, "retry_after_ms": 250}'),
        (WHEN, b'{"error": "busy", "retryable": true}'),
    ],
)
def test_a_refusal_that_does_not_is_a_problem(asked: Asked, headers: dict[str, str], body: bytes) -> None:
    assert problem_of(503, headers, body, asked, 7) is not None


def test_any_other_status_is_a_problem(asked: Asked) -> None:
    assert problem_of(500, {}, b"", asked, 7) == "status 500"


def test_no_two_requests_of_a_pool_are_about_the_same_state() -> None:
    states = {asked.decisions[0]["state"] for asked in pool(24, decisions=1)}

    assert len(states) == 24
