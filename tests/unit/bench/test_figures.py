from __future__ import annotations

import pytest

from tests.bench.figures import Target, failures, is_valid, percentile, ratio, variation
from tests.bench.watch import growth


def test_a_percentile_is_a_value_that_was_measured() -> None:
    values = [float(number) for number in range(100, 0, -1)]

    assert [percentile(values, percent) for percent in (50, 95, 99, 100)] == [50.0, 95.0, 99.0, 100.0]


def test_of_few_values_the_highest_percentiles_are_the_largest() -> None:
    assert percentile([3.0, 1.0, 2.0], 95) == 3.0


def test_a_round_that_was_slow_for_both_does_not_move_the_ratio() -> None:
    assert ratio([2.0, 2.0, 20.0], [1.0, 1.0, 10.0]) == 2.0


def test_rounds_of_which_one_is_missing_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="shorter"):
        ratio([1.0, 2.0], [1.0])


def test_one_measurement_far_from_the_median_is_the_variation() -> None:
    assert variation([10.0, 10.0, 10.0, 10.0, 13.0]) == pytest.approx(0.3)


@pytest.mark.parametrize(("last", "valid"), [(114.9, True), (85.1, True), (115.1, False), (84.9, False)])
def test_a_run_is_valid_while_its_control_stays_within_fifteen_per_cent(last: float, valid: bool) -> None:
    assert is_valid([100.0, 100.0, 100.0, 100.0, last]) is valid


def test_four_rounds_are_too_few_to_be_valid() -> None:
    assert not is_valid([100.0] * 4)


@pytest.mark.parametrize(
    ("value", "at_least", "valid", "verdict"),
    [
        (1.5, True, True, "met"),
        (1.4, True, True, "missed"),
        (1.5, False, True, "met"),
        (1.6, False, True, "missed"),
        (0.1, True, False, "INVALID"),
        (9.9, True, False, "INVALID"),
    ],
)
def test_a_target_is_judged_only_where_the_run_is_valid(
    value: float, at_least: bool, valid: bool, verdict: str
) -> None:
    assert Target("speed", value, 1.5, at_least=at_least, valid=valid).verdict == verdict


def test_an_invalid_run_fails_nothing() -> None:
    assert failures([Target("speed", 0.1, 1.5, at_least=True, valid=False)]) == 0


def test_every_missed_target_is_a_failure() -> None:
    missed = Target("speed", 0.1, 1.5, at_least=True)

    assert failures([missed, missed, Target("speed", 2.0, 1.5, at_least=True)]) == 2


def test_memory_that_grows_only_at_first_is_flat() -> None:
    assert growth([10.0, 60.0, 90.0, 99.0, *[100.0] * 12]) == 0.0


def test_memory_that_grows_steadily_is_not() -> None:
    assert growth([float(number) for number in range(40)]) == 20.0
