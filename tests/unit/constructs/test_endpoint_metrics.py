from __future__ import annotations

from collections.abc import Callable

import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk.assertions import Template

from decision_endpoints import ChatEndpoint, DecisionEndpoint, EndpointMetrics
from tests.support.synth import new_stack

METRICS = EndpointMetrics("decisions-test")
REQUESTS = {
    "Invocations": METRICS.metric_invocations,
    "Invocation4XXErrors": METRICS.metric_4xx_errors,
    "Invocation5XXErrors": METRICS.metric_5xx_errors,
    "ModelLatency": METRICS.metric_model_latency,
    "OverheadLatency": METRICS.metric_overhead_latency,
    "ConcurrentRequestsPerModel": METRICS.metric_concurrent_requests,
}
INSTANCES = {
    "CPUUtilization": METRICS.metric_cpu_utilization,
    "MemoryUtilization": METRICS.metric_memory_utilization,
    "DiskUtilization": METRICS.metric_disk_utilization,
    "GPUUtilization": METRICS.metric_gpu_utilization,
    "GPUMemoryUtilization": METRICS.metric_gpu_memory_utilization,
}


@pytest.mark.parametrize(
    ("namespace", "name", "make"),
    [
        *[("AWS/SageMaker", name, make) for name, make in REQUESTS.items()],
        *[("/aws/sagemaker/Endpoints", name, make) for name, make in INSTANCES.items()],
    ],
)
def test_a_metric_is_found_where_sagemaker_publishes_it(
    namespace: str, name: str, make: Callable[[], cloudwatch.Metric]
) -> None:
    metric = make()

    assert (metric.namespace, metric.metric_name) == (namespace, name)
    assert metric.dimensions == {"EndpointName": "decisions-test", "VariantName": "main"}


def test_a_metric_can_be_of_one_type_of_a_pool() -> None:
    dimensions = METRICS.metric_invocations(instance_type="ml.g5.xlarge").dimensions

    assert dimensions == {"EndpointName": "decisions-test", "VariantName": "main", "InstanceType": "ml.g5.xlarge"}


@pytest.mark.parametrize("kind", [DecisionEndpoint, ChatEndpoint])
def test_an_endpoint_that_is_known_by_name_can_be_asked_and_watched(
    kind: type[DecisionEndpoint] | type[ChatEndpoint],
) -> None:
    stack = new_stack()
    known = kind.from_endpoint_name(stack, "Known", "Decisions-Prod")
    known.grant_invoke(iam.Role(stack, "Application", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com")))

    assert known.metric_invocations().dimensions == {"EndpointName": "Decisions-Prod", "VariantName": "main"}
    Template.from_stack(stack).has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": [
                    {
                        "Action": "sagemaker:InvokeEndpoint",
                        "Effect": "Allow",
                        # SageMaker writes the name in lower case there.
                        "Resource": "arn:aws:sagemaker:us-east-1:123456789012:endpoint/decisions-prod",
                    }
                ]
            }
        },
    )
