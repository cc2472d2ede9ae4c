"""The alarms of one endpoint."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from constructs import Construct

from .alarm_thresholds import AlarmThresholds
from .endpoint import DecisionEndpoint
from .fleet import instance_count, instance_types
from .hosted_endpoint import HostedEndpoint
from .log_metrics import LogMetrics

_MICROSECONDS = 1_000_000
_MILLISECONDS = 1000
_MINUTE = Duration.minutes(1)
_FIVE_MINUTES = Duration.minutes(5)

_ROLLBACK = ("other-5xx", "load-failure", "offload-incomplete", "latency-p99")
"""What a new release itself can cause. Not "busy": overload would stop the update that adds capacity."""


class EndpointAlarms(Construct):
    """What an operator wants to be called for, one alarm for each thing that can be done about it.

    A quiet endpoint raises none, and neither does a percentile of too few requests. No alarm refers to the endpoint's
    resources, only to its name, so that its rollout may refer to the alarms: ``endpoint.roll_back_on(*rollback)``.

    Parameters
    ----------
    endpoint:
        A `DecisionEndpoint`, or a `ChatEndpoint`, which has no lines of the adapter's: for it, "other-5xx" counts every
        5xx, and there is no "busy", "queue-p95", "load-failure", "offload-incomplete" and "low-slot-mass".
    topic:
        Is told when an alarm goes off and when it is over. Default: nobody is; the console and the dashboard show it.
    thresholds:
        Default: those of `AlarmThresholds`, which gives the reasons.

    Attributes
    ----------
    alarms:
        By name: "busy", "other-5xx", "latency-p50", "latency-p95", "latency-p99", "queue-p95", "load-failure",
        "offload-incomplete", "low-slot-mass", "placement" (of a pool of several types), "at-maximum" (with scaling),
        "no-traffic".
    rollback_alarms:
        Those for a rollout to watch: "other-5xx", "load-failure", "offload-incomplete" and "latency-p99".
    log_metrics:
        The filters on the adapter's lines; None for a `ChatEndpoint`.

    Examples
    --------
    >>> alarms = EndpointAlarms(stack, "Alarms", endpoint=endpoint, thresholds=AlarmThresholds(busy_percent=25))
    >>> endpoint.roll_back_on(*alarms.rollback_alarms)
    >>> "busy" in alarms.alarms
    True

    Source: Amazon SageMaker AI developer guide, "SageMaker AI metrics in Amazon CloudWatch" and "Deploy to multiple
    instance types with instance pools"; Amazon CloudWatch user guide, "Alarm evaluation" and "Metric math functions".
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint: HostedEndpoint,
        topic: sns.ITopic | None = None,
        thresholds: AlarmThresholds | None = None,
    ) -> None:
        super().__init__(scope, id)
        self._endpoint = endpoint
        self._topic = topic
        self._thresholds = thresholds or AlarmThresholds()
        self._alarms: dict[str, cloudwatch.Alarm] = {}
        self.log_metrics: LogMetrics | None = None
        if isinstance(endpoint, DecisionEndpoint):
            self.log_metrics = LogMetrics(
                self, "LogMetrics", endpoint_logs=endpoint.logs, slot_mass=self._thresholds.slot_mass
            )
            self._build_adapter_alarms(self.log_metrics)
        self._build_request_alarms()
        self._build_fleet_alarms()

    @property
    def alarms(self) -> Mapping[str, cloudwatch.Alarm]:
        """All of them, by name."""
        return dict(self._alarms)

    @property
    def rollback_alarms(self) -> list[cloudwatch.Alarm]:
        """Those for a rollout to watch."""
        return [self._alarms[name] for name in _ROLLBACK if name in self._alarms]

    def _build_adapter_alarms(self, log_metrics: LogMetrics) -> None:
        limits = self._thresholds
        self._rate(
            "busy",
            limits.busy_percent,
            _percent(
                "IF(all > 0, 100 * busy / all, 0)",
                {
                    "busy": log_metrics.busy(),
                    "all": _sum(
                        answered=log_metrics.answered(),
                        busy=log_metrics.busy(),
                        failed=log_metrics.failed(),
                        refused=log_metrics.refused(),
                    ),
                },
                label="busy 503s, % of requests",
            ),
            "of all requests are refused because the endpoint is busy: allow more instances, or larger ones",
        )
        if limits.queue_p95_seconds is not None:
            self._add(
                "queue-p95",
                log_metrics.queue_time(statistic="p95"),
                limits.queue_p95_seconds * _MILLISECONDS,
                "requests wait long for their turn and are soon refused: allow more instances, or larger ones",
                periods=(5, 3),
            )
        self._count(
            "load-failure",
            limits.load_failures,
            log_metrics.load_failures(),
            "a container did not load its model: its log line model_refused says why; a wrong digest means that the "
            "stored model changed",
        )
        self._count(
            "offload-incomplete",
            limits.offload_failures,
            log_metrics.offload_failures(),
            "a container did not get its layers onto a GPU and does not serve: check the driver and the image",
        )
        self._rate(
            "low-slot-mass",
            limits.low_slot_mass_percent,
            _percent(
                "IF(answered > 0, 100 * low / answered, 0)",
                {
                    "answered": log_metrics.answered().with_(period=_FIVE_MINUTES),
                    "low": log_metrics.low_slot_mass().with_(period=_FIVE_MINUTES),
                },
                label="low slot mass, % of answers",
                period=_FIVE_MINUTES,
            ),
            "of the answers have little probability on their options: check model, prompt profile and questions",
            periods=(3, 2),
        )

    def _build_request_alarms(self) -> None:
        limits, metric = self._thresholds, self._endpoint.metric
        errors: cloudwatch.IMetric = metric("Invocation5XXErrors")
        if self.log_metrics is not None:
            # SageMaker counts the busy 503s among them, and also requests that a container died of without a line.
            minus = cloudwatch.MathExpression(
                expression="-1 * busy", using_metrics={"busy": self.log_metrics.busy()}, period=_MINUTE
            )
            errors = _sum(every=errors, minus=minus)
        self._rate(
            "other-5xx",
            limits.other_5xx_percent,
            _percent(
                "IF(requests > 0 AND errors > 0, 100 * errors / requests, 0)",
                {"errors": errors, "requests": metric("Invocations")},
                label="other 5xx, % of requests",
            ),
            "of all requests fail: the log's lines engine_failed and internal_error, or the container's last words",
        )
        for name in ("p50", "p95", "p99"):
            seconds = getattr(limits, f"latency_{name}_seconds")
            if seconds is not None:
                self._add(
                    f"latency-{name}",
                    metric("ModelLatency", statistic=name, period=_FIVE_MINUTES),
                    seconds * _MICROSECONDS,
                    f"the container's {name} latency is over {seconds:g} s: look at queue time, tokens and the fleet",
                    periods=(3, 2),
                )
        if limits.no_traffic_minutes is not None:
            self._add(
                "no-traffic",
                metric("Invocations", period=_FIVE_MINUTES),
                1,
                f"nobody asked for {limits.no_traffic_minutes} minutes: look at the callers",
                periods=(limits.no_traffic_minutes // 5, limits.no_traffic_minutes // 5),
                comparison=cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD,
                # Without requests SageMaker publishes nothing: here that is the signal.
                missing=cloudwatch.TreatMissingData.BREACHING,
            )

    def _build_fleet_alarms(self) -> None:
        limits, endpoint = self._thresholds, self._endpoint
        types = instance_types(endpoint)
        others = types[1:]
        if others and limits.fallback_instances is not None:
            self._add(
                "placement",
                instance_count(endpoint, others, label="instances of other types"),
                limits.fallback_instances,
                "instances run on another type than the pool's first choice, which had no capacity: speed and price "
                "differ; ask for a quota or capacity of the first",
                periods=(3, 3),
            )
        if endpoint.scaling is not None and limits.at_maximum_minutes is not None:
            self._add(
                "at-maximum",
                instance_count(endpoint, types, label="instances"),
                endpoint.scaling.max,
                f"all {endpoint.scaling.max} instances that scaling allows have run for {limits.at_maximum_minutes} "
                "minutes: raise the maximum if more traffic may come",
                periods=(limits.at_maximum_minutes // 5, limits.at_maximum_minutes // 5),
            )

    def _rate(
        self,
        name: str,
        percent: float | None,
        rate: cloudwatch.MathExpression,
        meaning: str,
        *,
        periods: tuple[int, int] = (5, 3),
    ) -> None:
        if percent is not None:
            self._add(name, rate, percent, f"over {percent:g} % {meaning}", periods=periods)

    def _count(self, name: str, count: int | None, metric: cloudwatch.Metric, meaning: str) -> None:
        if count is not None:
            self._add(name, metric.with_(period=_FIVE_MINUTES), count, meaning, periods=(1, 1))

    def _add(
        self,
        name: str,
        metric: cloudwatch.IMetric,
        threshold: float,
        meaning: str,
        *,
        periods: tuple[int, int],
        comparison: cloudwatch.ComparisonOperator = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
        missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING,
    ) -> None:
        """An alarm that goes off when the second of `periods` are over the threshold, of as many as the first."""
        alarm = cloudwatch.Alarm(
            self,
            "".join(word.capitalize() for word in name.split("-")),
            alarm_description=f"{self._endpoint.endpoint_name}, {name}: {meaning}.",
            metric=metric,
            threshold=threshold,
            comparison_operator=comparison,
            evaluation_periods=periods[0],
            datapoints_to_alarm=periods[1],
            treat_missing_data=missing,
            # A tail of a few requests is one slow request.
            evaluate_low_sample_count_percentile="ignore" if name.rpartition("-")[2] in ("p50", "p95", "p99") else None,
        )
        if self._topic is not None:
            action = actions.SnsAction(self._topic)
            alarm.add_alarm_action(action)
            alarm.add_ok_action(action)
        self._alarms[name] = alarm


def _percent(
    expression: str, metrics: Mapping[str, cloudwatch.IMetric], *, label: str, period: Duration = _MINUTE
) -> cloudwatch.MathExpression:
    return cloudwatch.MathExpression(expression=expression, using_metrics=metrics, label=label, period=period)


def _sum(**metrics: cloudwatch.IMetric) -> cloudwatch.MathExpression:
    """Their sum, of those that have a value: with +, one that is missing makes the whole missing."""
    return cloudwatch.MathExpression(expression=f"SUM([{', '.join(metrics)}])", using_metrics=metrics, period=_MINUTE)
