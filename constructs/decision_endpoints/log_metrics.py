"""Metrics that CloudWatch Logs makes of the adapter's own log lines."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_logs as logs
from constructs import Construct

from .endpoint_logs import EndpointLogs

NAMESPACE = "DecisionEndpoints"
"""Where these metrics are. Their names begin with the endpoint's: a filter can have dimensions or a default value, not
both, and without the default a quiet minute would be a gap in which no rate can be told."""

_Pattern = logs.FilterPattern


class LogMetrics(Construct):
    """Metric filters on an endpoint's log group, one for each kind of line that an alarm or the dashboard counts.

    No line matches two of them, so their counts add up. They belong to the stack they are made in, also where the group
    outlives it.

    Parameters
    ----------
    endpoint_logs:
        The log group.
    slot_mass:
        An answer with less than this share of the probability on its options counts as low; at most 0.5.

    Attributes
    ----------
    filters:
        The filters by name: QueueMilliseconds, Busy, Failed, Refused, LoadFailures, OffloadFailures, LowSlotMass.

    Examples
    --------
    >>> log_metrics = LogMetrics(
    ...     stack, "LogMetrics", endpoint_logs=EndpointLogs(stack, "Logs", endpoint_name="decisions-dev"), slot_mass=0.1
    ... )
    >>> log_metrics.busy().metric_name
    'decisions-dev/Busy'

    Source: Amazon CloudWatch Logs user guide, "Filter pattern syntax for metric filters" and "Creating metrics from log
    events using filters".
    """

    def __init__(self, scope: Construct, id: str, *, endpoint_logs: EndpointLogs, slot_mass: float) -> None:
        super().__init__(scope, id)
        self._logs = endpoint_logs
        # Waiting is measured where there is an answer; its sample count is the count of answers.
        self.filters = {
            "QueueMilliseconds": self._build_filter("QueueMilliseconds", _requests("answered"), value="$.queue_ms"),
            "Busy": self._build_filter("Busy", _requests("busy")),
            "Failed": self._build_filter("Failed", _requests("failed", "unavailable")),
            "Refused": self._build_filter("Refused", _requests("refused")),
            "LoadFailures": self._build_filter("LoadFailures", _refused_models("model", "engine")),
            "OffloadFailures": self._build_filter("OffloadFailures", _refused_models("offload")),
            "LowSlotMass": self._build_filter(
                "LowSlotMass",
                _Pattern.all(
                    _Pattern.string_value("$.event", "=", "low_slot_mass"),
                    _Pattern.number_value("$.slot_mass", "<", slot_mass),
                ),
            ),
        }

    def answered(self) -> cloudwatch.Metric:
        """Requests with an answer."""
        return self._metric("QueueMilliseconds", "SampleCount")

    def queue_time(self, *, statistic: str = "p95") -> cloudwatch.Metric:
        """Milliseconds that answered requests waited for their turn."""
        return self._metric("QueueMilliseconds", statistic)

    def busy(self) -> cloudwatch.Metric:
        """Requests that could not be answered in time and were told so at once: 503, to be asked again."""
        return self._metric("Busy")

    def failed(self) -> cloudwatch.Metric:
        """Requests that the engine gave no answer to: 500, or 503 while it does not serve."""
        return self._metric("Failed")

    def refused(self) -> cloudwatch.Metric:
        """Requests that were wrong themselves: 4xx."""
        return self._metric("Refused")

    def load_failures(self) -> cloudwatch.Metric:
        """Containers whose model was not the one asked for, or did not load."""
        return self._metric("LoadFailures")

    def offload_failures(self) -> cloudwatch.Metric:
        """Containers that did not get every layer asked for onto a GPU."""
        return self._metric("OffloadFailures")

    def low_slot_mass(self) -> cloudwatch.Metric:
        """Answered requests whose options hold little of the probability."""
        return self._metric("LowSlotMass")

    def _metric(self, name: str, statistic: str = "Sum") -> cloudwatch.Metric:
        return cloudwatch.Metric(
            namespace=NAMESPACE,
            metric_name=f"{self._logs.endpoint_name}/{name}",
            statistic=statistic,
            period=Duration.minutes(1),
        )

    def _build_filter(self, name: str, pattern: logs.IFilterPattern, *, value: str | None = None) -> logs.MetricFilter:
        metric_filter = logs.MetricFilter(
            self,
            name,
            log_group=self._logs.log_group,
            filter_pattern=pattern,
            metric_namespace=NAMESPACE,
            metric_name=f"{self._logs.endpoint_name}/{name}",
            metric_value=value or "1",
            # A count is 0 where other lines came; of a measurement that would be a lie.
            default_value=None if value else 0,
        )
        # The group is named, not referred to.
        metric_filter.node.add_dependency(self._logs)
        return metric_filter


def _requests(*outcomes: str) -> logs.JsonPattern:
    return _Pattern.all(_Pattern.string_value("$.event", "=", "request"), _one_of("$.outcome", outcomes))


def _refused_models(*causes: str) -> logs.JsonPattern:
    return _Pattern.all(_Pattern.string_value("$.event", "=", "model_refused"), _one_of("$.cause", causes))


def _one_of(field: str, words: tuple[str, ...]) -> logs.JsonPattern:
    return _Pattern.any(*[_Pattern.string_value(field, "=", word) for word in words])
