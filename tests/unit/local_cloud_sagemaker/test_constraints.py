"""SageMaker's model decides what a request may say; the service's own limits count as much as the SDK's."""

from __future__ import annotations

from typing import Any

import pytest

from local_cloud.aws_model import ApiError
from local_cloud.sagemaker import constraints, rules
from tests.support.hosting import ROLE

CONFIG: dict[str, Any] = {
    "EndpointConfigName": "config",
    "ProductionVariants": [
        {"VariantName": "main", "ModelName": "m", "InitialInstanceCount": 1, "InstanceType": "ml.c6i.xlarge"}
    ],
}


def config(**changes: Any) -> dict[str, Any]:
    variant = {**CONFIG["ProductionVariants"][0], **changes}
    return {**CONFIG, "ProductionVariants": [{key: value for key, value in variant.items() if value is not None}]}


def refusal_of(operation: str, request: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as refused:
        constraints.validate(operation, request)
    assert refused.value.code == "ValidationException"
    return str(refused.value)


def test_a_request_within_the_limits_passes() -> None:
    constraints.validate("CreateEndpointConfig", CONFIG)
    rules.check_endpoint_config(CONFIG)


def test_a_misspelt_property_is_named() -> None:
    assert '"InstanceTyp"' in refusal_of("CreateEndpointConfig", config(InstanceTyp="ml.c6i.xlarge"))


@pytest.mark.parametrize("name", ["a_b", "-a", "a-", "a" * 64, ""])
def test_a_name_beyond_the_pattern_is_refused(name: str) -> None:
    assert "endpointName" in refusal_of("CreateEndpoint", {"EndpointName": name, "EndpointConfigName": "c"})


@pytest.mark.parametrize("name", ["a", "a" * 63, "a--b", "9"])
def test_a_name_within_the_pattern_passes(name: str) -> None:
    constraints.validate("CreateEndpoint", {"EndpointName": name, "EndpointConfigName": "c"})


def test_an_unknown_instance_type_is_answered_with_the_nearest() -> None:
    assert "ml.c6i.8xlarge" in refusal_of("CreateEndpointConfig", config(InstanceType="ml.c6i.9xlarge"))


@pytest.mark.parametrize("seconds", [59, 3601])
def test_a_startup_window_out_of_range_is_refused(seconds: int) -> None:
    request = config(ContainerStartupHealthCheckTimeoutInSeconds=seconds)

    assert "ContainerStartupHealthCheckTimeoutInSeconds" in refusal_of("CreateEndpointConfig", request).replace(
        "containerStartup", "ContainerStartup"
    )


@pytest.mark.parametrize("environment", [{f"K{i}": "v" for i in range(101)}, {"K": "v" * 1025}])
def test_an_environment_beyond_sagemakers_limits_is_refused(environment: dict[str, str]) -> None:
    role = "arn:aws:iam::123456789012:role/model"
    request = {"ModelName": "m", "ExecutionRoleArn": role, "PrimaryContainer": {"Environment": environment}}

    assert "environment" in refusal_of("CreateModel", request)


def pools(*priorities: int) -> list[dict[str, Any]]:
    types = ("ml.c6i.large", "ml.c6i.xlarge", "ml.c6i.2xlarge", "ml.c6i.4xlarge", "ml.c6i.8xlarge", "ml.c6i.16xlarge")
    return [{"InstanceType": kind, "Priority": priority} for kind, priority in zip(types, priorities, strict=False)]


def test_five_pools_of_different_priorities_pass() -> None:
    request = config(InstanceType=None, InstancePools=pools(5, 4, 3, 2, 1))

    constraints.validate("CreateEndpointConfig", request)
    rules.check_endpoint_config(request)


@pytest.mark.parametrize("priorities", [(1, 2, 3, 4, 5, 5), (0,), (6,)])
def test_pools_beyond_the_model_are_refused(priorities: tuple[int, ...]) -> None:
    assert "nstancePools" in refusal_of(
        "CreateEndpointConfig", config(InstanceType=None, InstancePools=pools(*priorities))
    )


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"InstancePools": pools(1)}, "either InstanceType or InstancePools"),
        ({"InstanceType": None}, "either InstanceType or InstancePools"),
        ({"InstanceType": None, "InstancePools": pools(1, 1)}, "priorities [1, 1]"),
        ({"InitialInstanceCount": None}, "InitialInstanceCount"),
        ({"ModelName": None}, "ModelName"),
    ],
)
def test_a_variant_that_contradicts_itself_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(ApiError) as refused:
        rules.check_endpoint_config(config(**changes))

    assert named in str(refused.value)


@pytest.mark.parametrize(
    "kind", ["ml.g5.2xlarge", "ml.g6e.xlarge", "ml.g4dn.2xlarge", "ml.c6id.xlarge", "ml.m5dn.large"]
)
def test_a_volume_key_or_size_for_an_instance_with_local_storage_is_refused(kind: str) -> None:
    with pytest.raises(ApiError, match=f"KmsKeyId cannot be given for {kind}"):
        rules.check_endpoint_config({**config(InstanceType=kind), "KmsKeyId": "alias/volumes"})
    with pytest.raises(ApiError, match="VolumeSizeInGB cannot be given"):
        rules.check_endpoint_config(config(InstanceType=kind, VolumeSizeInGB=100))


@pytest.mark.parametrize("kind", ["ml.c6i.xlarge", "ml.c7g.xlarge", "ml.m5.large", "ml.inf2.xlarge"])
def test_a_volume_key_and_size_for_an_instance_without_local_storage_pass(kind: str) -> None:
    rules.check_endpoint_config({**config(InstanceType=kind, VolumeSizeInGB=100), "KmsKeyId": "alias/volumes"})


def test_the_properties_of_a_guarded_endpoint_pass() -> None:
    capture = {
        "EnableCapture": True,
        "InitialSamplingPercentage": 10,
        "DestinationS3Uri": "s3://captured/here",
        "KmsKeyId": "alias/captured",
        "CaptureOptions": [{"CaptureMode": "InputAndOutput"}],
        "CaptureContentTypeHeader": {"JsonContentTypes": ["application/json"]},
    }
    vpc = {"SecurityGroupIds": ["sg-0"], "Subnets": ["subnet-0"]}
    request = {**config(InferenceAmiVersion="al2-ami-sagemaker-inference-gpu-3-1"), "DataCaptureConfig": capture}

    constraints.validate("CreateEndpointConfig", request)
    rules.check_endpoint_config(request)
    constraints.validate("CreateModel", {"ModelName": "m", "ExecutionRoleArn": ROLE, "VpcConfig": vpc})


def test_blue_green_and_rolling_at_once_are_refused() -> None:
    routing = {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 0}
    with pytest.raises(ApiError, match="either BlueGreenUpdatePolicy or RollingUpdatePolicy"):
        rules.check_deployment(
            {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing}, "RollingUpdatePolicy": {}}
        )


def test_a_canary_without_its_size_is_refused() -> None:
    routing = {"Type": "CANARY", "WaitIntervalInSeconds": 0}
    with pytest.raises(ApiError, match="CanarySize"):
        rules.check_deployment({"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing}})
