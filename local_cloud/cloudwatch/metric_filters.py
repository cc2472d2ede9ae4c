"""Metric filters that count: a line that comes into a log group becomes a point of its filters' metrics.

The emulator keeps filters and lets them rest. A filter's default value is published where lines came in a minute and
none matched.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from ministack.services import cloudwatch_logs  # type: ignore[import-untyped]

from local_cloud.cloudwatch import metrics
from local_cloud.cloudwatch.filter_pattern import FilterPattern, PatternError, selected
from local_cloud.cloudwatch.metrics import Metric
from local_cloud.ministack_seams import Response, json_refusal

_MINUTE_SECONDS = 60

_logger = logging.getLogger(__name__)
_parsed = lru_cache(maxsize=256)(FilterPattern.parse)


def install() -> None:
    """Apply filters to the lines that come, and refuse those that CloudWatch Logs refuses."""
    put_filter, put_events = cloudwatch_logs._put_metric_filter, cloudwatch_logs._put_log_events

    def put_checked_filter(request: Mapping[str, Any]) -> Response:
        try:
            _check(request)
        except (PatternError, ValueError) as error:
            return json_refusal("InvalidParameterException", str(error))
        answer: Response = put_filter(request)
        return answer

    def put_counted_events(request: Mapping[str, Any]) -> Response:
        answer: Response = put_events(request)
        if answer[0] < 400:
            _count(str(request["logGroupName"]), request.get("logEvents") or [])
        return answer

    cloudwatch_logs._put_metric_filter = put_checked_filter
    cloudwatch_logs._put_log_events = put_counted_events


def _check(request: Mapping[str, Any]) -> None:
    _parsed(request.get("filterPattern") or "")
    for transformation in request.get("metricTransformations") or []:
        if "defaultValue" in transformation and transformation.get("dimensions"):
            raise ValueError(
                f"Invalid metric transformation: {transformation['metricName']} has dimensions and a default value;"
                " a metric filter can have one of them"
            )


def _count(group: str, events: Sequence[Mapping[str, Any]]) -> None:
    filters = [found for (of, _name), found in cloudwatch_logs._metric_filters.items() if of == group]
    for metric_filter in filters:
        pattern = _parsed(metric_filter["filterPattern"])
        matching = [event for event in events if pattern.matches(str(event.get("message", "")))]
        for transformation in metric_filter["metricTransformations"]:
            for event in matching:
                _publish(transformation, event)
            if not matching and events and transformation.get("defaultValue") is not None:
                _publish_default(transformation)


def _publish(transformation: Mapping[str, Any], event: Mapping[str, Any]) -> None:
    line = str(event.get("message", ""))
    value = _value(str(transformation["metricValue"]), line)
    dimensions = {name: selected(line, path) for name, path in (transformation.get("dimensions") or {}).items()}
    if value is None or None in dimensions.values():
        return
    metric = Metric(
        transformation["metricNamespace"],
        transformation["metricName"],
        {name: str(found) for name, found in dimensions.items()},
    )
    at = float(event["timestamp"]) / 1000 if "timestamp" in event else None
    metrics.put(metric, value, unit=transformation.get("unit", "None"), at=at)


def _publish_default(transformation: Mapping[str, Any]) -> None:
    metric = Metric(transformation["metricNamespace"], transformation["metricName"], {})
    minute = time.time() // _MINUTE_SECONDS * _MINUTE_SECONDS
    if not metrics.in_period(metric, minute, minute + _MINUTE_SECONDS):
        metrics.put(metric, float(transformation["defaultValue"]), unit=transformation.get("unit", "None"))


def _value(text: str, line: str) -> float | None:
    """A number, or the number that a selector finds in the line."""
    found = selected(line, text) if text.startswith("$") else text
    try:
        return float(found)
    except (TypeError, ValueError):
        _logger.debug("a metric filter found no number at %s", text)
        return None
