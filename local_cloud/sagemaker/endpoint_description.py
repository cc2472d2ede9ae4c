"""What DescribeEndpoint says about an endpoint."""

from __future__ import annotations

from local_cloud.aws_model import JsonObject
from local_cloud.sagemaker.endpoint import Endpoint, Release


def describe_endpoint(endpoint: Endpoint) -> JsonObject:
    """The answer of DescribeEndpoint."""
    serving, wanted = endpoint.instances
    description: JsonObject = {
        "EndpointName": endpoint.name,
        "EndpointArn": endpoint.arn,
        "EndpointConfigName": endpoint.release.config_name,
        "EndpointStatus": endpoint.status,
        "ProductionVariants": [_variant(endpoint.release, serving, wanted, endpoint.created)],
        "CreationTime": endpoint.created,
        "LastModifiedTime": endpoint.modified,
    }
    if endpoint.failure_reason is not None:
        description["FailureReason"] = endpoint.failure_reason
    if endpoint.deployment is not None:
        description["LastDeploymentConfig"] = endpoint.deployment
    if endpoint.pending is not None:
        description["PendingDeploymentSummary"] = {
            "EndpointConfigName": endpoint.pending.config_name,
            "StartTime": endpoint.modified,
        }
    return description


def _variant(release: Release, serving: int, wanted: int, since: float) -> JsonObject:
    variant = release.variant
    image = {"SpecifiedImage": variant.image, "ResolvedImage": variant.image, "ResolutionTime": since}
    description: JsonObject = {
        "VariantName": variant.name,
        "DeployedImages": [image],
        "CurrentWeight": release.weight,
        "DesiredWeight": release.weight,
        "CurrentInstanceCount": serving,
        "DesiredInstanceCount": wanted,
    }
    if variant.pooled:
        description["InstancePools"] = [{"InstanceType": variant.instance_type, "CurrentInstanceCount": serving}]
    return description
