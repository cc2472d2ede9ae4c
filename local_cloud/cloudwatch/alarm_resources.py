"""`AWS::CloudWatch::Alarm` with metric math and with what to do about percentiles of few samples.

The emulator refuses the first and forgets the second. Properties are validated against CloudWatch's own model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ministack.services.cloudformation import provisioners  # type: ignore[import-untyped]

from local_cloud import aws_model
from local_cloud.aws_model import ApiError
from local_cloud.cloudwatch.metric_math import Expression, MathError

_ONE_METRIC = ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Period", "Dimensions", "Unit")
_LOW_SAMPLES = "EvaluateLowSampleCountPercentile"


def install() -> None:
    """Keep alarms as their templates have them."""
    record = provisioners._cw_metric_alarm_record

    def record_whole(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
        request = _validated(name, properties)
        if not request.get("Metrics"):
            return {**record(name, properties), **_present(request, (_LOW_SAMPLES,))}
        _check_queries(request)
        # The emulator wants one metric: what it makes of that goes again.
        kept = record(name, {**_without(properties, ("Metrics",)), "MetricName": "-", "Namespace": "-"})
        return {**_without(kept, _ONE_METRIC), "Metrics": request["Metrics"]}

    provisioners._cw_metric_alarm_record = record_whole


def _validated(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    shape = aws_model.input_shape("cloudwatch", "PutMetricAlarm")
    request: dict[str, Any] = aws_model.coerce({**properties, "AlarmName": name}, shape)
    try:
        aws_model.validate("cloudwatch", "PutMetricAlarm", request)
    except ApiError as error:
        raise ValueError(str(error)) from error
    return request


def _check_queries(request: Mapping[str, Any]) -> None:
    """Refuse metric math that CloudWatch would refuse."""
    given = [name for name in _ONE_METRIC if name in request]
    if given:
        raise ValueError(f"Metrics and {', '.join(given)} exclude each other: an alarm is on one metric or on math")
    queries = request["Metrics"]
    ids = [query["Id"] for query in queries]
    if len(set(ids)) != len(ids):
        raise ValueError(f"The ids of Metrics are {', '.join(ids)}: each may occur once")
    if sum(bool(query.get("ReturnData", True)) for query in queries) != 1:
        raise ValueError("Exactly one element of Metrics must have ReturnData true: the one to compare")
    for query in queries:
        if ("Expression" in query) == ("MetricStat" in query):
            raise ValueError(f"Metrics {query['Id']}: give either Expression or MetricStat")
        _check_names(query, ids)


def _check_names(query: Mapping[str, Any], ids: list[str]) -> None:
    try:
        names = Expression.parse(query["Expression"]).names if "Expression" in query else frozenset[str]()
    except MathError as error:
        raise ValueError(f"Metrics {query['Id']}: {error}") from error
    unknown = sorted(names - set(ids))
    if unknown:
        raise ValueError(f"Metrics {query['Id']}: its expression names {', '.join(unknown)}, which no element has")


def _without(properties: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if name not in names}


def _present(properties: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: properties[name] for name in names if name in properties}
