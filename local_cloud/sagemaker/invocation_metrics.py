"""The metrics that SageMaker publishes of invocations: how many, how they ended, and how long the container took.

Source: Amazon SageMaker AI developer guide, "SageMaker AI metrics in Amazon CloudWatch".
"""

from __future__ import annotations

from http import HTTPStatus

from local_cloud.cloudwatch import metrics
from local_cloud.cloudwatch.metrics import Metric

_NAMESPACE = "AWS/SageMaker"
_MICROSECONDS = 1_000_000


def publish(endpoint: str, variant: str, status: int, seconds: float) -> None:
    """Count one invocation that reached a container, which answered with `status` (0: not at all) after `seconds`."""
    by_client = HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR
    good = HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES
    counts = {
        "Invocations": True,
        "Invocation4XXErrors": by_client,
        "Invocation5XXErrors": not good and not by_client,
        "InvocationModelErrors": not good,
    }
    dimensions = {"EndpointName": endpoint, "VariantName": variant}
    for name, counted in counts.items():
        metrics.put(Metric(_NAMESPACE, name, dimensions), float(counted), unit="Count")
    metrics.put(Metric(_NAMESPACE, "ModelLatency", dimensions), seconds * _MICROSECONDS, unit="Microseconds")
