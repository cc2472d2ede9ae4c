"""Application Auto Scaling keeps what is right and refuses what AWS refuses."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud import autoscaling
from local_cloud.aws_model import ApiError
from tests.support.aws_clients import ClientFactory


@pytest.fixture
def target() -> dict[str, Any]:
    """Of another service than SageMaker, whose endpoints must exist."""
    return {
        "ServiceNamespace": "ecs",
        "ResourceId": f"service/cluster/{uuid.uuid4().hex[:8]}",
        "ScalableDimension": "ecs:service:DesiredCount",
    }


def tracking(target: dict[str, Any], **members: Any) -> dict[str, Any]:
    metric = {"PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"}
    return {
        **target,
        "PolicyName": "track",
        "PolicyType": "TargetTrackingScaling",
        "TargetTrackingScalingPolicyConfiguration": {"TargetValue": 5.0, "PredefinedMetricSpecification": metric},
        **members,
    }


def test_a_target_and_its_policy_are_kept_and_go_together(client: ClientFactory, target: dict[str, Any]) -> None:
    scaling = client("application-autoscaling")
    scaling.register_scalable_target(**target, MinCapacity=1, MaxCapacity=4)
    scaling.put_scaling_policy(**tracking(target))

    described = scaling.describe_scalable_targets(ServiceNamespace="ecs", ResourceIds=[target["ResourceId"]])
    assert [kept["MaxCapacity"] for kept in described["ScalableTargets"]] == [4]
    policies = scaling.describe_scaling_policies(ServiceNamespace="ecs", ResourceId=target["ResourceId"])
    assert [kept["PolicyName"] for kept in policies["ScalingPolicies"]] == ["track"]

    scaling.deregister_scalable_target(**target)

    policies = scaling.describe_scaling_policies(ServiceNamespace="ecs", ResourceId=target["ResourceId"])
    assert policies["ScalingPolicies"] == []


def test_a_policy_needs_a_registered_target(client: ClientFactory, target: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match="No scalable target registered"):
        client("application-autoscaling").put_scaling_policy(**tracking(target))


def test_a_maximum_below_the_minimum_is_refused(client: ClientFactory, target: dict[str, Any]) -> None:
    with pytest.raises(ClientError, match=r"Maximum capacity \(1\) cannot be less than minimum capacity \(2\)"):
        client("application-autoscaling").register_scalable_target(**target, MinCapacity=2, MaxCapacity=1)


def test_an_endpoint_that_does_not_exist_cannot_scale(client: ClientFactory) -> None:
    with pytest.raises(ClientError, match="resource does not exist: endpoint/nobody/variant/main"):
        client("application-autoscaling").register_scalable_target(
            ServiceNamespace="sagemaker",
            ResourceId="endpoint/nobody/variant/main",
            ScalableDimension="sagemaker:variant:DesiredInstanceCount",
            MinCapacity=1,
            MaxCapacity=2,
        )


def test_an_unknown_parameter_is_refused_by_name() -> None:
    with pytest.raises(ApiError, match='Unknown parameter in input: "MaxCapacityy"'):
        autoscaling.call("RegisterScalableTarget", {"MaxCapacityy": 1})
