"""The metrics that SageMaker publishes for one variant of an endpoint."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch

VARIANT_NAME = "main"
"""The one production variant. It is a dimension of every metric, and updates need it unchanged, so it never changes."""

SAGEMAKER_NAMESPACE = "AWS/SageMaker"
"""Where SageMaker counts and times requests."""

INSTANCE_NAMESPACE = "/aws/sagemaker/Endpoints"
"""Where the instances' utilization goes, published in the name of the execution role."""


class EndpointMetrics:
    """The metrics of a variant, each a `cloudwatch.Metric` over 1 minute unless said otherwise.

    Utilization is in percent of one unit: 400 % of CPU is four busy vCPUs. Every endpoint has these methods too, for
    its production variant.

    Parameters
    ----------
    endpoint_name:
        The endpoint's name.
    variant_name:
        Default: the production variant.

    Examples
    --------
    >>> EndpointMetrics("decisions-dev").metric_model_latency(statistic="p99").statistic
    'p99'

    Source: Amazon SageMaker AI developer guide, "SageMaker AI metrics in Amazon CloudWatch".
    """

    endpoint_name: str
    variant_name: str

    def __init__(self, endpoint_name: str, variant_name: str = VARIANT_NAME) -> None:
        self.endpoint_name = endpoint_name
        self.variant_name = variant_name

    def metric(
        self,
        name: str,
        *,
        namespace: str = SAGEMAKER_NAMESPACE,
        statistic: str = "Sum",
        period: Duration | None = None,
        instance_type: str | None = None,
    ) -> cloudwatch.Metric:
        """Any metric of the variant; of one type of a pool alone with `instance_type`."""
        dimensions = {"EndpointName": self.endpoint_name, "VariantName": self.variant_name}
        if instance_type is not None:
            dimensions["InstanceType"] = instance_type
        return cloudwatch.Metric(
            namespace=namespace,
            metric_name=name,
            dimensions_map=dimensions,
            statistic=statistic,
            period=period or Duration.minutes(1),
        )

    def metric_invocations(self, *, instance_type: str | None = None) -> cloudwatch.Metric:
        """Requests, answered or not."""
        return self.metric("Invocations", instance_type=instance_type)

    def metric_4xx_errors(self) -> cloudwatch.Metric:
        """Requests that the container refused."""
        return self.metric("Invocation4XXErrors")

    def metric_5xx_errors(self) -> cloudwatch.Metric:
        """Requests answered with a 5xx; a busy adapter's 503 is among them."""
        return self.metric("Invocation5XXErrors")

    def metric_model_latency(self, *, statistic: str = "p95") -> cloudwatch.Metric:
        """Microseconds that the container took to answer."""
        return self.metric("ModelLatency", statistic=statistic)

    def metric_overhead_latency(self, *, statistic: str = "p95") -> cloudwatch.Metric:
        """Microseconds that SageMaker added to the container's."""
        return self.metric("OverheadLatency", statistic=statistic)

    def metric_concurrent_requests(
        self, *, statistic: str = "Average", instance_type: str | None = None
    ) -> cloudwatch.Metric:
        """Requests on an instance, waiting ones included: what scaling goes by."""
        return self.metric("ConcurrentRequestsPerModel", statistic=statistic, instance_type=instance_type)

    def metric_cpu_utilization(self, *, statistic: str = "Average") -> cloudwatch.Metric:
        """CPU, in percent of one vCPU."""
        return self._utilization("CPUUtilization", statistic)

    def metric_memory_utilization(self, *, statistic: str = "Average") -> cloudwatch.Metric:
        """Memory, in percent."""
        return self._utilization("MemoryUtilization", statistic)

    def metric_disk_utilization(self, *, statistic: str = "Average") -> cloudwatch.Metric:
        """Disk, in percent."""
        return self._utilization("DiskUtilization", statistic)

    def metric_gpu_utilization(self, *, statistic: str = "Average") -> cloudwatch.Metric:
        """GPUs, in percent of one."""
        return self._utilization("GPUUtilization", statistic)

    def metric_gpu_memory_utilization(self, *, statistic: str = "Average") -> cloudwatch.Metric:
        """GPU memory, in percent of one GPU's."""
        return self._utilization("GPUMemoryUtilization", statistic)

    def _utilization(self, name: str, statistic: str) -> cloudwatch.Metric:
        return self.metric(name, namespace=INSTANCE_NAMESPACE, statistic=statistic)
