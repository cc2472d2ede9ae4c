"""The state of metric alarms: over their own dimensions, by period, with metric math and what is said of missing data.

An alarm is evaluated when metrics are put, when somebody asks for alarms, and while an update of an endpoint watches
it. The period that has begun counts as one of those it looks at, so that nobody waits a minute for it. An alarm none of
whose metrics has ever had a point keeps the state it has.

Source: Amazon CloudWatch user guide, "Alarm evaluation" and "Percentile-based alarms and low data samples".
"""

from __future__ import annotations

import operator
import time
from collections.abc import Callable, Mapping
from typing import Any

from ministack.services import cloudwatch  # type: ignore[import-untyped]

from local_cloud.cloudwatch import metrics
from local_cloud.cloudwatch.metric_math import Expression, MathError, Series
from local_cloud.cloudwatch.metrics import Metric

_ALARM, _OK, _NO_DATA = "ALARM", "OK", "INSUFFICIENT_DATA"
_DEFAULT_PERIOD_SECONDS = 60
_BREACHES: dict[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanOrEqualToThreshold": operator.le,
    "LessThanThreshold": operator.lt,
}


def install() -> None:
    """Evaluate alarms this way, and before they are described."""
    describe = cloudwatch._describe_alarms

    def describe_as_of_now(*request: object) -> object:
        cloudwatch._evaluate_all_alarms()
        return describe(*request)

    cloudwatch._evaluate_alarm = _evaluate
    cloudwatch._describe_alarms = describe_as_of_now


def missing(names: list[str]) -> list[str]:
    """Those that no alarm of the current account and region has."""
    return [name for name in names if name not in cloudwatch._alarms and name not in cloudwatch._composite_alarms]


def in_alarm(names: list[str]) -> list[str]:
    """Those that are in ALARM now."""
    cloudwatch._evaluate_all_alarms()
    found = [cloudwatch._alarms.get(name) or cloudwatch._composite_alarms.get(name) or {} for name in names]
    return [str(alarm["AlarmName"]) for alarm in found if alarm.get("StateValue") == _ALARM]


def _evaluate(alarm: dict[str, Any]) -> None:
    queries = queries_of(alarm)
    stored = [Metric.from_api(query["MetricStat"]["Metric"]) for query in queries if "MetricStat" in query]
    if not any(metrics.ever(metric) for metric in stored):
        return
    try:
        state, reason = _state(alarm, queries)
    except MathError as error:
        state, reason = _NO_DATA, str(error)
    _move(alarm, state, reason)


def queries_of(alarm: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What an alarm looks at, as metric data queries; an alarm on one metric is one query."""
    if alarm.get("Metrics"):
        return list(alarm["Metrics"])
    metric = {key: alarm.get(key) for key in ("Namespace", "MetricName", "Dimensions")}
    stat = alarm.get("ExtendedStatistic") or alarm.get("Statistic") or "Average"
    return [{"Id": "m", "MetricStat": {"Metric": metric, "Period": alarm.get("Period"), "Stat": stat}}]


def _state(alarm: Mapping[str, Any], queries: list[dict[str, Any]]) -> tuple[str, str]:
    count = int(alarm.get("EvaluationPeriods") or 1)
    needed = int(alarm.get("DatapointsToAlarm") or count)
    if _too_few_samples(alarm, queries, count):
        return str(alarm["StateValue"]), str(alarm["StateReason"])
    values = _watched(queries, count)
    breaches, threshold = _BREACHES.get(str(alarm.get("ComparisonOperator"))), float(alarm.get("Threshold") or 0)
    if breaches is None:
        return _NO_DATA, f"The local cloud does not evaluate {alarm.get('ComparisonOperator')}."
    present = [value for value in values if value is not None]
    treat = alarm.get("TreatMissingData") or "missing"
    if not present and treat == "missing":
        return _NO_DATA, f"Insufficient Data: {count} datapoints were unknown."
    if not present and treat == "ignore":
        return str(alarm["StateValue"]), str(alarm["StateReason"])
    over = sum(breaches(value, threshold) for value in present)
    if treat == "breaching":
        over += count - len(present)
    shown = ", ".join("missing" if value is None else f"{value:g}" for value in values)
    reason = f"Threshold Crossed: of the last {count} datapoints [{shown}] {over} were {alarm['ComparisonOperator']}"
    return (_ALARM if over >= needed else _OK), f"{reason} ({threshold:g}); {needed} are needed to alarm."


def _watched(queries: list[dict[str, Any]], count: int) -> Series:
    """The series of the query that the alarm compares with its threshold."""
    period = _period(queries)
    now = time.time() // period * period + period
    series: dict[str, Series] = {}
    waiting = {query["Id"]: query for query in queries if "Expression" in query}
    for query in queries:
        if "MetricStat" in query:
            metric, stat = Metric.from_api(query["MetricStat"]["Metric"]), query["MetricStat"]["Stat"]
            starts = [now - period * (count - index) for index in range(count)]
            series[query["Id"]] = [
                metrics.statistic(metrics.in_period(metric, start, start + period), stat) for start in starts
            ]
    while waiting:
        ready = [name for name, query in waiting.items() if _names(query) <= set(series)]
        if not ready:
            raise MathError(f"The expressions {', '.join(sorted(waiting))} refer to each other, or to nothing.")
        for name in ready:
            series[name] = Expression.parse(waiting.pop(name)["Expression"]).over(series, period, count)
    return series[_returned(queries)["Id"]]


def _names(query: Mapping[str, Any]) -> frozenset[str]:
    return Expression.parse(query["Expression"]).names


def _returned(queries: list[dict[str, Any]]) -> dict[str, Any]:
    return next(query for query in queries if query.get("ReturnData", True))


def _period(queries: list[dict[str, Any]]) -> int:
    periods = [query["MetricStat"].get("Period") for query in queries if "MetricStat" in query]
    return max(int(period or _DEFAULT_PERIOD_SECONDS) for period in periods)


def _too_few_samples(alarm: Mapping[str, Any], queries: list[dict[str, Any]], count: int) -> bool:
    """Whether the alarm's percentile would be that of too few samples, and the alarm says to ignore such."""
    percentile = str(alarm.get("ExtendedStatistic") or "")
    if alarm.get("EvaluateLowSampleCountPercentile") != "ignore" or not percentile.startswith("p"):
        return False
    share = float(percentile[1:]) / 100
    enough = 10 / (1 - share) if share >= 0.5 else 10 / share
    period = _period(queries)
    metric = Metric.from_api(queries[0]["MetricStat"]["Metric"])
    now = time.time()
    return metrics.samples(metrics.in_period(metric, now - period * count, now + period)) < enough


def _move(alarm: dict[str, Any], state: str, reason: str) -> None:
    before = alarm["StateValue"]
    if state == before:
        return
    alarm["StateValue"], alarm["StateReason"] = state, reason
    alarm["StateUpdatedTimestamp"] = int(time.time())
    cloudwatch._record_history(alarm["AlarmName"], before, state, reason)
    cloudwatch._dispatch_alarm_actions(alarm, before, state, reason)
    cloudwatch._evaluate_parent_alarms(alarm)
