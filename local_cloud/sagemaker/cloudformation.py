"""`AWS::SageMaker::Model`, `EndpointConfig` and `Endpoint` for CloudFormation.

A model or an endpoint configuration is replaced when anything but its tags changes. An endpoint is updated in place
unless its name changes. `Ref` is the ARN.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from local_cloud import aws_model
from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.ministack_seams import (
    Attributes,
    Properties,
    ResourceType,
    generated_name,
    register_resource,
    replace_resource,
)
from local_cloud.sagemaker import constraints, control_plane
from local_cloud.sagemaker.endpoint import Endpoint
from local_cloud.sagemaker.resources import ENDPOINT, ENDPOINT_CONFIG, MODEL, Kind, tags_of

_LONGEST_NAME = 63

# Properties that only an update of an endpoint uses; CreateEndpoint does not know them.
_UPDATE_ONLY = ("RetainAllVariantProperties", "ExcludeRetainedVariantProperties", "RetainDeploymentConfig")


def install() -> None:
    """Teach CloudFormation the three types."""
    for kind in (MODEL, ENDPOINT_CONFIG):
        shape = aws_model.input_shape("sagemaker", f"Create{kind.name}")
        _register(kind, _definition_type(kind), replaced_by=set(shape.members) - {"Tags"})
    _register(
        ENDPOINT, ResourceType(_create_endpoint, _update_endpoint, _delete_endpoint), replaced_by={"EndpointName"}
    )


def _register(kind: Kind, resource_type: ResourceType, *, replaced_by: Collection[str]) -> None:
    type_name = f"AWS::SageMaker::{kind.name}"
    register_resource(type_name, resource_type, waits=kind is ENDPOINT)
    replace_resource(type_name, changed=replaced_by, name_property=kind.name_field)


def _definition_type(kind: Kind) -> ResourceType:
    def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
        request = _request(f"Create{kind.name}", properties)
        request.setdefault(kind.name_field, generated_name(stack_name, logical_id, longest=_LONGEST_NAME))
        return _created(kind, request)

    def update(physical_id: str, old: Properties, new: Properties, stack_name: str) -> tuple[str, Attributes]:
        # Known properties that changed made the engine replace the resource: what comes here are tags and misspellings.
        request = _request(f"Create{kind.name}", new)
        request.setdefault(kind.name_field, _name_in(physical_id))
        _validate(f"Create{kind.name}", request)
        _retag(physical_id, old, new)
        return physical_id, _attributes(kind, _name_in(physical_id))

    def delete(physical_id: str, properties: Properties) -> None:
        _delete(kind, _name_in(physical_id))

    return ResourceType(create, update, delete)


def _create_endpoint(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    request = _request("CreateEndpoint", properties)
    request.setdefault("EndpointName", generated_name(stack_name, logical_id, longest=_LONGEST_NAME))
    for_updates = {key: request.pop(key) for key in _UPDATE_ONLY if key in request}
    update: JsonObject = {"EndpointName": request["EndpointName"], **for_updates}
    update["EndpointConfigName"] = request.get("EndpointConfigName")
    _validate("UpdateEndpoint", _request("UpdateEndpoint", update))
    created = _created(ENDPOINT, request)
    endpoint = control_plane.endpoints.get(request["EndpointName"])
    failure = endpoint.wait()
    if failure is not None:
        # Nobody deletes a resource whose creation failed.
        _delete(ENDPOINT, endpoint.name)
        endpoint.wait()
        raise ValueError(_handler_message(failure))
    return created


def _update_endpoint(physical_id: str, old: Properties, new: Properties, stack_name: str) -> tuple[str, Attributes]:
    name = _name_in(physical_id)
    # An operation of somebody else may still be in progress: autoscaling, or the update that this one rolls back.
    endpoint = _found(name)
    endpoint.wait()
    request = _request("UpdateEndpoint", {key: value for key, value in new.items() if key != "Tags"})
    request["EndpointName"] = name
    _validate("UpdateEndpoint", request)
    _retag(physical_id, old, new)
    # A rollback asks for what a failed update left running.
    if endpoint.release.config_name != request["EndpointConfigName"]:
        _call("UpdateEndpoint", request)
        failure = endpoint.wait()
        if failure is not None:
            raise ValueError(_handler_message(failure))
    return physical_id, _attributes(ENDPOINT, name)


def _delete_endpoint(physical_id: str, properties: Properties) -> None:
    endpoint = control_plane.endpoints.find(_name_in(physical_id))
    if endpoint is None:
        return
    endpoint.wait()
    _delete(ENDPOINT, endpoint.name)
    endpoint.wait()


def _found(name: str) -> Endpoint:
    try:
        return control_plane.endpoints.get(name)
    except ApiError as error:
        raise ValueError(_handler_message(str(error))) from error


def _created(kind: Kind, request: JsonObject) -> tuple[str, Attributes]:
    arn: str = _call(f"Create{kind.name}", request)[kind.arn_field]
    return arn, _attributes(kind, request[kind.name_field])


def _delete(kind: Kind, name: str) -> None:
    try:
        control_plane.call(f"Delete{kind.name}", {kind.name_field: name})
    except ApiError as error:
        if "Could not find" not in str(error):
            raise ValueError(_handler_message(str(error))) from error


def _retag(arn: str, old: Properties, new: Properties) -> None:
    before, after = tags_of(old), tags_of(new)
    gone = [key for key in before if key not in after]
    if gone:
        _call("DeleteTags", {"ResourceArn": arn, "TagKeys": gone})
    if after and after != before:
        _call("AddTags", {"ResourceArn": arn, "Tags": new["Tags"]})


def _validate(operation: str, request: JsonObject) -> None:
    try:
        constraints.validate(operation, request)
    except ApiError as error:
        raise ValueError(_handler_message(str(error))) from error


def _call(operation: str, request: JsonObject) -> JsonObject:
    try:
        return control_plane.call(operation, request)
    except ApiError as error:
        raise ValueError(_handler_message(str(error))) from error


def _request(operation: str, properties: Mapping[str, Any]) -> JsonObject:
    request = aws_model.coerce(dict(properties), aws_model.input_shape("sagemaker", operation))
    if not isinstance(request, dict):
        raise TypeError(f"{operation} takes properties, not {type(request).__name__}")
    return request


def _attributes(kind: Kind, name: str) -> Attributes:
    return {kind.name_field: name, kind.arn_field: kind.arn(name), "Arn": kind.arn(name)}


def _name_in(arn: str) -> str:
    return arn.rpartition("/")[2]


def _handler_message(message: str) -> str:
    return f'Resource handler returned message: "{message}"'
