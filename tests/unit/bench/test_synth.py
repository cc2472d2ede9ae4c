from __future__ import annotations

from tests.bench.synth import judge


def _judge(ours: list[float], empty: list[float]) -> str:
    target, _ = judge({"ours": ours, "empty": empty, "floor": empty}, stacks=10, resources=300)
    return target.verdict


def test_the_time_per_stack_is_compared() -> None:
    assert _judge([14.0] * 5, [1.0] * 5) == "met"


def test_more_than_one_and_a_half_times_is_missed() -> None:
    assert _judge([16.0] * 5, [1.0] * 5) == "missed"


def test_an_empty_app_that_takes_another_time_each_round_says_nothing() -> None:
    assert _judge([14.0] * 5, [1.0, 1.0, 1.0, 1.0, 1.5]) == "INVALID"
