"""Points of metrics in the emulator's store: written from any thread, read by period."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ministack.services import cloudwatch  # type: ignore[import-untyped]

# The emulator rewrites the lists of points on its event loop, where it has no need for locks.
lock = threading.RLock()


@dataclass(frozen=True)
class Metric:
    """One metric: a namespace, a name and a set of dimensions."""

    namespace: str
    name: str
    dimensions: Mapping[str, str]

    @classmethod
    def from_api(cls, metric: Mapping[str, Any]) -> Metric:
        """From the `Metric` of a request."""
        dimensions = {each["Name"]: each["Value"] for each in metric.get("Dimensions") or []}
        return cls(metric["Namespace"], metric["MetricName"], dimensions)

    @property
    def _key(self) -> tuple[str, str, str]:
        return self.namespace, self.name, cloudwatch._dims_key(dict(self.dimensions))


def install() -> None:
    """Let the emulator's own operations on metrics wait for the threads that write."""
    handle = cloudwatch.handle_request

    async def handle_alone(*request: object) -> object:
        with lock:
            return await handle(*request)

    cloudwatch.handle_request = handle_alone


def put(metric: Metric, value: float, *, unit: str = "None", at: float | None = None) -> None:
    """Add a point, of the present time unless `at` (seconds) says another."""
    when = time.time() if at is None else at
    with lock:
        cloudwatch._store_datum(
            metric.namespace, metric.name, dict(metric.dimensions), when, unit, value, None, None, None
        )


def in_period(metric: Metric, start: float, end: float) -> list[Any]:
    """The stored points from `start` to before `end`, in seconds."""
    with lock:
        points: Sequence[Any] = cloudwatch._metrics.get(metric._key) or []
        return [point for point in points if start <= point["Timestamp"] < end]


def ever(metric: Metric) -> bool:
    """Whether the metric has any point."""
    with lock:
        return bool(cloudwatch._metrics.get(metric._key))


def statistic(points: Sequence[Any], name: str) -> float | None:
    """A statistic of points, as `Sum` or `p95`; None where there is none."""
    if not points:
        return None
    value = cloudwatch._stat_value(cloudwatch._calc_stats(points), name, points)
    return None if value is None else float(value)


def samples(points: Sequence[Any]) -> float:
    """How many samples the points stand for."""
    return float(cloudwatch._calc_stats(points).get("SampleCount", 0.0))
