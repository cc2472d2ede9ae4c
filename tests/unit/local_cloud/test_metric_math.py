"""Metric math gives what CloudWatch gives, also where values are missing."""

from __future__ import annotations

import pytest

from local_cloud.cloudwatch.metric_math import Expression, MathError, Value


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("a + 2 * b", 8),
        ("-1 * a", -2),
        ("(a + b) / c", None),
        ("a / zero", None),
        ("SUM([a, b, c])", 5),
        ("MAX([c])", None),
        ("IF(a > 1 AND b >= 3, 10, 20)", 10),
        ("IF(a > 2 || b > 3, 10, 20)", 20),
        ("IF(c > 1, 10, 20)", None),
        ("FILL(c, 7)", 7),
        ("FLOOR(SUM([a, b]) / (PERIOD(a) / 60) + 0.5)", 1),
    ],
)
def test_an_expression_has_its_value(expression: str, value: Value) -> None:
    series: dict[str, list[Value]] = {"a": [2.0], "b": [3.0], "c": [None], "zero": [0.0]}

    assert Expression.parse(expression).over(series, 300, 1) == [value]


def test_an_expression_names_its_metrics_and_no_function() -> None:
    assert Expression.parse("IF(all > 0, SUM([busy, other]) / PERIOD(all), 0)").names == {"all", "busy", "other"}


@pytest.mark.parametrize("expression", ["a +", "ANOMALY_DETECTION_BAND(a, 2)", "'text'", "a.real"])
def test_what_is_no_metric_math_or_unknown_here_is_refused_by_name(expression: str) -> None:
    with pytest.raises(MathError, match="xpression"):
        Expression.parse(expression).over({"a": [1.0]}, 60, 1)
