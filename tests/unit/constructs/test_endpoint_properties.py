"""No property of a hosting resource is set that is not explained here, and nothing is explained that is not set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from aws_cdk.assertions import Template

WHY = {
    "AWS::SageMaker::Model": {
        "ExecutionRoleArn": "in whose name SageMaker reads the model, pulls the image and writes the log",
        "EnableNetworkIsolation": "a container that handles callers' text has no network",
        "PrimaryContainer.Image": "by digest: tags move",
        "PrimaryContainer.Environment": "the container's settings, and the digest it insists on",
        "PrimaryContainer.ModelDataSource.S3DataSource.S3Uri": "the verified prefix, known by its digest",
        "PrimaryContainer.ModelDataSource.S3DataSource.S3DataType": "files under a prefix; or one archive",
        "PrimaryContainer.ModelDataSource.S3DataSource.CompressionType": "as they are: weights do not compress",
        "VpcConfig.Subnets": "only with network=",
        "VpcConfig.SecurityGroupIds": "only with network=",
    },
    "AWS::SageMaker::EndpointConfig": {
        "ProductionVariants.VariantName": "a dimension of every metric, and updates need it unchanged",
        "ProductionVariants.ModelName": "what it serves",
        "ProductionVariants.InstanceType": "of a single type; excludes InstancePools",
        "ProductionVariants.InstancePools.InstanceType": "the choices of a pool",
        "ProductionVariants.InstancePools.Priority": "their order",
        "ProductionVariants.InferenceAmiVersion": "the host's driver; left out, CUDA 13 does not start on g4dn and g5",
        "ProductionVariants.InitialInstanceCount": "how many it starts with",
        "ProductionVariants.InitialVariantWeight": "CloudFormation demands one; a shadow's is relative to it",
        "ProductionVariants.VolumeSizeInGB": "only with volume_gib=",
        "ProductionVariants.ContainerStartupHealthCheckTimeoutInSeconds": "hashing and loading takes minutes",
        "ProductionVariants.ModelDataDownloadTimeoutInSeconds": "gigabytes take minutes",
        "ProductionVariants.RoutingConfig.RoutingStrategy": "few requests at a time: to the shortest queue",
        "ShadowProductionVariants.VariantName": "only with shadow=; a dimension of its metrics",
        "ShadowProductionVariants.ModelName": "the candidate",
        "ShadowProductionVariants.InstanceType": "as in production",
        "ShadowProductionVariants.InitialInstanceCount": "its own fleet",
        "ShadowProductionVariants.InitialVariantWeight": "the share of requests that it gets too",
        "ShadowProductionVariants.VolumeSizeInGB": "as in production",
        "ShadowProductionVariants.ContainerStartupHealthCheckTimeoutInSeconds": "as in production",
        "ShadowProductionVariants.ModelDataDownloadTimeoutInSeconds": "as in production",
        "ShadowProductionVariants.RoutingConfig.RoutingStrategy": "as in production",
        "KmsKeyId": "only with volume_key=",
        "DataCaptureConfig.EnableCapture": "only with data_capture=",
        "DataCaptureConfig.InitialSamplingPercentage": "how much of it",
        "DataCaptureConfig.DestinationS3Uri": "where to",
        "DataCaptureConfig.KmsKeyId": "the key of that bucket",
        "DataCaptureConfig.CaptureOptions.CaptureMode": "requests, answers or both",
        "DataCaptureConfig.CaptureContentTypeHeader.JsonContentTypes": "JSON as it is; else it is kept as base64",
    },
    "AWS::SageMaker::Endpoint": {
        "EndpointName": "what callers, alarms and the log group know; the one name of ours",
        "EndpointConfigName": "what it runs",
        "RetainAllVariantProperties": "only with scaling=: an update keeps the instances that scaling added",
        "DeploymentConfig.AutoRollbackConfiguration.Alarms.AlarmName": "what takes an update back",
        "DeploymentConfig.BlueGreenUpdatePolicy.TrafficRoutingConfiguration.Type": "canary, linear or all at once",
        "DeploymentConfig.BlueGreenUpdatePolicy.TrafficRoutingConfiguration.WaitIntervalInSeconds": "time to watch",
        "DeploymentConfig.BlueGreenUpdatePolicy.TrafficRoutingConfiguration.CanarySize.Type": "a part of the fleet",
        "DeploymentConfig.BlueGreenUpdatePolicy.TrafficRoutingConfiguration.CanarySize.Value": "how large a part",
        "DeploymentConfig.BlueGreenUpdatePolicy.TerminationWaitInSeconds": "only with termination_wait=",
        "DeploymentConfig.BlueGreenUpdatePolicy.MaximumExecutionTimeoutInSeconds": "only with timeout=",
        "DeploymentConfig.RollingUpdatePolicy.MaximumBatchSize.Type": "a part of the fleet",
        "DeploymentConfig.RollingUpdatePolicy.MaximumBatchSize.Value": "how large a part",
        "DeploymentConfig.RollingUpdatePolicy.WaitIntervalInSeconds": "time to watch",
    },
    "AWS::ApplicationAutoScaling::ScalableTarget": {
        "ServiceNamespace": "SageMaker",
        "ScalableDimension": "the instances of a variant",
        "ResourceId": "of this endpoint's variant",
        "MinCapacity": "the fewest",
        "MaxCapacity": "the most",
    },
    "AWS::ApplicationAutoScaling::ScalingPolicy": {
        "PolicyName": "CloudFormation demands one",
        "PolicyType": "towards a target",
        "ScalingTargetId": "the scalable target",
        "TargetTrackingScalingPolicyConfiguration.TargetValue": "requests on an instance",
        "TargetTrackingScalingPolicyConfiguration.ScaleInCooldown": "an instance takes minutes to start: remove slowly",
        "TargetTrackingScalingPolicyConfiguration.ScaleOutCooldown": "those that still start count: add quickly",
        "TargetTrackingScalingPolicyConfiguration.PredefinedMetricSpecification.PredefinedMetricType": (
            "requests on an instance every 10 seconds; of a single type"
        ),
        "TargetTrackingScalingPolicyConfiguration.CustomizedMetricSpecification.Metrics": (
            "requests on an instance by the weight of its type; of a pool of several (test_scaling.py)"
        ),
    },
}
# What is a value of its own, with names that are no properties.
WHOLE = ("Environment", "Metrics")


def _paths(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _paths(item, path)
    elif isinstance(value, dict) and not path.endswith(WHOLE) and not _is_intrinsic(value):
        for name, part in value.items():
            yield from _paths(part, f"{path}.{name}" if path else name)
    else:
        yield path


def _is_intrinsic(value: dict[str, Any]) -> bool:
    (name, *more) = value
    return not more and (name == "Ref" or name.startswith("Fn::"))


@pytest.mark.parametrize("kind", WHY)
def test_every_property_that_is_set_is_explained(
    everything: Template, gpu_pool: Template, chat: Template, kind: str
) -> None:
    found = {
        path
        for template in (everything, gpu_pool, chat)
        for resource in template.find_resources(kind).values()
        for path in _paths(resource["Properties"])
    }

    assert found == set(WHY[kind])
