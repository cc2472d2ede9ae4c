"""`AWS::ApplicationAutoScaling::ScalableTarget` and `ScalingPolicy` for CloudFormation, over the API."""

from __future__ import annotations

from collections.abc import Callable

from local_cloud import aws_model
from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.ministack_seams import Attributes, Properties, ResourceType, register_resource

Call = Callable[[str, JsonObject], JsonObject]
"""`call(operation, params)` of the API; raises ApiError."""


def install(call: Call) -> None:
    """Teach CloudFormation the two types."""
    register_resource("AWS::ApplicationAutoScaling::ScalableTarget", _target_type(call))
    register_resource("AWS::ApplicationAutoScaling::ScalingPolicy", _policy_type(call))


def _target_type(call: Call) -> ResourceType:
    def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
        if properties.get("ScheduledActions"):
            raise ValueError("ScheduledActions: the local cloud has no clock for them, leave them out here")
        registered = _request(call, "RegisterScalableTarget", _without(properties, "ScheduledActions"))
        named = (properties["ResourceId"], properties["ScalableDimension"], properties["ServiceNamespace"])
        physical_id = "|".join(named)
        return physical_id, {"Id": physical_id, "ScalableTargetARN": registered["ScalableTargetARN"]}

    def update(physical_id: str, old: Properties, new: Properties, stack_name: str) -> tuple[str, Attributes]:
        return create("", new, stack_name)

    def delete(physical_id: str, properties: Properties) -> None:
        _delete(call, "DeregisterScalableTarget", _target_of(physical_id))

    return ResourceType(create, update, delete)


def _policy_type(call: Call) -> ResourceType:
    def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
        arn: str = _request(call, "PutScalingPolicy", _policy_params(properties))["PolicyARN"]
        return arn, {"Arn": arn}

    def update(physical_id: str, old: Properties, new: Properties, stack_name: str) -> tuple[str, Attributes]:
        return create("", new, stack_name)

    def delete(physical_id: str, properties: Properties) -> None:
        params = _policy_params(properties)
        named = ("PolicyName", "ServiceNamespace", "ResourceId", "ScalableDimension")
        _delete(call, "DeleteScalingPolicy", {member: params[member] for member in named})

    return ResourceType(create, update, delete)


def _request(call: Call, operation: str, params: JsonObject) -> JsonObject:
    shape = aws_model.input_shape("application-autoscaling", operation)
    try:
        return call(operation, aws_model.coerce(params, shape))
    except ApiError as error:
        raise ValueError(f'Resource handler returned message: "{error}"') from error


def _delete(call: Call, operation: str, params: JsonObject) -> None:
    """Succeeds for what is not there."""
    try:
        call(operation, params)
    except ApiError as error:
        if error.code != "ObjectNotFoundException":
            raise ValueError(f'Resource handler returned message: "{error}"') from error


def _policy_params(properties: Properties) -> JsonObject:
    """A policy names its target by `ScalingTargetId`, the target's physical id, or by the three members."""
    if "ScalingTargetId" not in properties:
        return properties
    return {**_without(properties, "ScalingTargetId"), **_target_of(properties["ScalingTargetId"])}


def _target_of(physical_id: str) -> JsonObject:
    resource, dimension, namespace = physical_id.split("|")
    return {"ServiceNamespace": namespace, "ResourceId": resource, "ScalableDimension": dimension}


def _without(properties: Properties, name: str) -> JsonObject:
    return {key: value for key, value in properties.items() if key != name}
