"""The operations of the SageMaker API that this cloud has, each from a validated request to its answer."""

from __future__ import annotations

from collections.abc import Callable

from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.sagemaker import constraints, listing, rules
from local_cloud.sagemaker.endpoint import Endpoint, Release
from local_cloud.sagemaker.endpoint_description import describe_endpoint
from local_cloud.sagemaker.resources import (
    ENDPOINT,
    ENDPOINT_CONFIG,
    KINDS,
    MODEL,
    Definition,
    Resource,
    Shelf,
    tags_of,
)
from local_cloud.sagemaker.variants import Variant, models_named

models: Shelf[Definition] = Shelf(MODEL)
endpoint_configs: Shelf[Definition] = Shelf(ENDPOINT_CONFIG)
endpoints: Shelf[Endpoint] = Shelf(ENDPOINT)


def call(operation: str, request: JsonObject) -> JsonObject:
    """Answer one API call.

    Raises
    ------
    ApiError
        As SageMaker spells it: `ValidationException` for everything that the caller did wrong.
    """
    implementation = _OPERATIONS.get(operation)
    if implementation is None:
        raise ApiError("UnknownOperationException", f"The local cloud has no SageMaker operation {operation}.")
    constraints.validate(operation, request)
    return implementation(request)


def _create_model(request: JsonObject) -> JsonObject:
    rules.check_model(request)
    model = Definition.from_request(MODEL, request)
    models.add(model)
    return {"ModelArn": model.arn}


def _describe_model(request: JsonObject) -> JsonObject:
    model = models.get(request["ModelName"])
    return {**model.request, "ModelArn": model.arn, "CreationTime": model.created}


def _delete_model(request: JsonObject) -> JsonObject:
    # In use or not: SageMaker deletes only the entry, and endpoints that host it go on.
    models.remove(models.get(request["ModelName"]).name)
    return {}


def _create_endpoint_config(request: JsonObject) -> JsonObject:
    rules.check_endpoint_config(request)
    for model_name in models_named(request):
        models.get(model_name)
    config = Definition.from_request(ENDPOINT_CONFIG, request)
    endpoint_configs.add(config)
    return {"EndpointConfigArn": config.arn}


def _describe_endpoint_config(request: JsonObject) -> JsonObject:
    config = endpoint_configs.get(request["EndpointConfigName"])
    return {**config.request, "EndpointConfigArn": config.arn, "CreationTime": config.created}


def _delete_endpoint_config(request: JsonObject) -> JsonObject:
    # As for models: an endpoint keeps what it read from its configuration.
    endpoint_configs.remove(endpoint_configs.get(request["EndpointConfigName"]).name)
    return {}


def _create_endpoint(request: JsonObject) -> JsonObject:
    deployment = request.get("DeploymentConfig")
    rules.check_deployment(deployment)
    name = request["EndpointName"]
    endpoint = Endpoint(name, ENDPOINT.arn(name), _release(request["EndpointConfigName"]), deployment, tags_of(request))
    endpoints.add(endpoint)
    endpoint.create()
    return {"EndpointArn": endpoint.arn}


def _describe_endpoint(request: JsonObject) -> JsonObject:
    return describe_endpoint(endpoints.get(request["EndpointName"]))


def _update_endpoint(request: JsonObject) -> JsonObject:
    endpoint = endpoints.get(request["EndpointName"])
    deployment = request.get("DeploymentConfig")
    rules.check_deployment(deployment)
    if deployment is None and request.get("RetainDeploymentConfig"):
        deployment = endpoint.deployment
    release = _release(request["EndpointConfigName"])
    if request.get("RetainAllVariantProperties"):
        excluded = request.get("ExcludeRetainedVariantProperties", [])
        release = _with_retained_properties(release, endpoint, {each["VariantPropertyType"] for each in excluded})
    endpoint.update(release, deployment)
    return {"EndpointArn": endpoint.arn}


def _with_retained_properties(release: Release, endpoint: Endpoint, excluded: set[str]) -> Release:
    current = endpoint.release
    if current.variant.name != release.variant.name:
        return release
    return Release(
        release.config_name,
        release.variant,
        release.instance_count if "DesiredInstanceCount" in excluded else current.instance_count,
        release.weight if "DesiredWeight" in excluded else current.weight,
    )


def _update_weights_and_capacities(request: JsonObject) -> JsonObject:
    endpoint = endpoints.get(request["EndpointName"])
    current = endpoint.release
    wanted = {each["VariantName"]: each for each in request["DesiredWeightsAndCapacities"]}
    if set(wanted) != {current.variant.name}:
        raise ApiError(
            "ValidationException",
            f'Endpoint "{endpoint.arn}" has the variant {current.variant.name}, the request names'
            f" {', '.join(sorted(wanted))}.",
        )
    desired = wanted[current.variant.name]
    count = desired.get("DesiredInstanceCount", current.instance_count)
    if count < 1:
        raise ApiError(
            "ValidationException", f"Variant {current.variant.name}: DesiredInstanceCount must be at least 1."
        )
    endpoint.scale(count, desired.get("DesiredWeight", current.weight))
    return {"EndpointArn": endpoint.arn}


def _delete_endpoint(request: JsonObject) -> JsonObject:
    endpoint = endpoints.get(request["EndpointName"])
    endpoint.delete(lambda: endpoints.remove(endpoint.name))
    return {}


def _release(config_name: str) -> Release:
    variant = Variant.of(endpoint_configs.get(config_name), models)
    return Release(config_name, variant, variant.instance_count, variant.weight)


def _list_models(request: JsonObject) -> JsonObject:
    return listing.page("Models", MODEL, models.all(), request)


def _list_endpoint_configs(request: JsonObject) -> JsonObject:
    return listing.page("EndpointConfigs", ENDPOINT_CONFIG, endpoint_configs.all(), request)


def _list_endpoints(request: JsonObject) -> JsonObject:
    return listing.page("Endpoints", ENDPOINT, endpoints.all(), request)


def _list_tags(request: JsonObject) -> JsonObject:
    return _tag_list(_tagged(request["ResourceArn"]))


def _add_tags(request: JsonObject) -> JsonObject:
    resource = _tagged(request["ResourceArn"])
    resource.tags.update(tags_of(request))
    return _tag_list(resource)


def _delete_tags(request: JsonObject) -> JsonObject:
    resource = _tagged(request["ResourceArn"])
    for key in request["TagKeys"]:
        resource.tags.pop(key, None)
    return {}


def _tag_list(resource: Resource) -> JsonObject:
    return {"Tags": [{"Key": key, "Value": value} for key, value in resource.tags.items()]}


def _tagged(arn: str) -> Resource:
    shelves: dict[str, Shelf[Definition] | Shelf[Endpoint]] = {
        shelf.kind.arn_part: shelf for shelf in (models, endpoint_configs, endpoints)
    }
    part, _, name = arn.rpartition(":")[2].partition("/")
    if part not in shelves:
        known = ", ".join(kind.arn_part for kind in KINDS)
        raise ApiError("ValidationException", f'"{arn}" is no ARN of a resource with tags here: {known}.')
    return shelves[part].get(name)


_OPERATIONS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "CreateModel": _create_model,
    "DescribeModel": _describe_model,
    "DeleteModel": _delete_model,
    "ListModels": _list_models,
    "CreateEndpointConfig": _create_endpoint_config,
    "DescribeEndpointConfig": _describe_endpoint_config,
    "DeleteEndpointConfig": _delete_endpoint_config,
    "ListEndpointConfigs": _list_endpoint_configs,
    "CreateEndpoint": _create_endpoint,
    "DescribeEndpoint": _describe_endpoint,
    "UpdateEndpoint": _update_endpoint,
    "UpdateEndpointWeightsAndCapacities": _update_weights_and_capacities,
    "DeleteEndpoint": _delete_endpoint,
    "ListEndpoints": _list_endpoints,
    "ListTags": _list_tags,
    "AddTags": _add_tags,
    "DeleteTags": _delete_tags,
}
