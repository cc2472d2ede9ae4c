"""How many instances an endpoint has, told by what they publish themselves."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

from .endpoint_metrics import INSTANCE_NAMESPACE
from .hosted_endpoint import HostedEndpoint


def instance_types(endpoint: HostedEndpoint) -> list[str]:
    """The types it may run on, the first choice first."""
    return [member.name for member in endpoint.compute.members]


def instance_minutes(endpoint: HostedEndpoint, instance_type: str, *, period: Duration) -> cloudwatch.Metric:
    """Minutes that instances of this type ran.

    SageMaker publishes no count of instances, but each publishes its CPU utilization once a minute, with traffic or
    without: the samples are the minutes. Only what may run on several types has them for each type.
    """
    return endpoint.metric(
        "CPUUtilization",
        namespace=INSTANCE_NAMESPACE,
        statistic="SampleCount",
        period=period,
        instance_type=instance_type if len(endpoint.compute.members) > 1 else None,
    )


def instance_count(endpoint: HostedEndpoint, types: Sequence[str], *, label: str) -> cloudwatch.MathExpression:
    """Instances of these types, each at least one of the endpoint's, over five minutes.

    Rounded, since a sample may fall into the next period; and by the period that is in force, since a dashboard
    stretches it when it shows a long time.
    """
    period = Duration.minutes(5)
    minutes = {_identifier(name): instance_minutes(endpoint, name, period=period) for name in types}
    # SUM of a list takes what is there: of a type that never ran, no metric exists.
    return cloudwatch.MathExpression(
        expression=f"FLOOR(SUM([{', '.join(minutes)}]) / (PERIOD({next(iter(minutes))}) / 60) + 0.5)",
        using_metrics=dict(minutes),
        label=label,
        period=period,
    )


def _identifier(instance_type: str) -> str:
    return instance_type.replace(".", "_").replace("-", "_")
