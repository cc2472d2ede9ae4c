"""Application Auto Scaling: targets and policies are validated and kept, so that a deploy of them fares as on AWS.

Nothing is scaled: the local cloud measures no load.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from local_cloud import autoscaling_resources, aws_model, sagemaker
from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.ministack_seams import (
    Response,
    account_id,
    json_answer,
    json_refusal,
    region,
    register_api,
)

_SERVICE = "application-autoscaling"

# What the target is, and what a policy type needs.
_TARGET_MEMBERS = ("ServiceNamespace", "ResourceId", "ScalableDimension")
_CONFIGURATIONS = {
    "TargetTrackingScaling": "TargetTrackingScalingPolicyConfiguration",
    "StepScaling": "StepScalingPolicyConfiguration",
    "PredictiveScaling": "PredictiveScalingPolicyConfiguration",
}

TargetKey = tuple[str, str, str]
"""Service namespace, resource id, scalable dimension."""


@dataclass
class _Registered:
    """What one account has in one region."""

    targets: dict[TargetKey, JsonObject] = field(default_factory=dict)
    policies: dict[tuple[TargetKey, str], JsonObject] = field(default_factory=dict)


_registered: dict[tuple[str, str], _Registered] = {}


def install() -> None:
    """Register the API and the two CloudFormation types."""
    register_api(_SERVICE, target_prefix="AnyScaleFrontendService.", credential_scope=_SERVICE, handler=_handle_request)
    autoscaling_resources.install(call)


def reset() -> None:
    """Forget all targets and policies."""
    _registered.clear()


def call(operation: str, params: JsonObject) -> JsonObject:
    """Answer one operation of the API for the current account and region.

    Raises
    ------
    ApiError
        As Application Auto Scaling refuses it.
    """
    if operation not in _OPERATIONS:
        raise ApiError("InvalidAction", f"the local cloud does not emulate {operation} of Application Auto Scaling")
    aws_model.validate(_SERVICE, operation, params)
    return _OPERATIONS[operation](params)


def _here() -> _Registered:
    return _registered.setdefault((account_id(), region()), _Registered())


def _key(params: Mapping[str, Any]) -> TargetKey:
    namespace, resource, dimension = (params[member] for member in _TARGET_MEMBERS)
    return namespace, resource, dimension


def _register_target(params: JsonObject) -> JsonObject:
    targets, key = _here().targets, _key(params)
    _check_resource(key)
    target = {**targets.get(key, {}), **params}
    if key not in targets:
        missing = [member for member in ("MinCapacity", "MaxCapacity") if member not in params]
        if missing:
            raise ApiError("ValidationException", f"{' and '.join(missing)} must be given for a new scalable target")
        target["CreationTime"] = time.time()
        target["ScalableTargetARN"] = (
            f"arn:aws:application-autoscaling:{region()}:{account_id()}:scalable-target/{uuid.uuid4().hex}"
        )
        target.setdefault("RoleARN", f"arn:aws:iam::{account_id()}:role/aws-service-role/{key[0]}")
    if target["MinCapacity"] > target["MaxCapacity"]:
        raise ApiError(
            "ValidationException",
            f"Maximum capacity ({target['MaxCapacity']}) cannot be less than minimum capacity"
            f" ({target['MinCapacity']}): {key[1]}",
        )
    targets[key] = target
    return {"ScalableTargetARN": target["ScalableTargetARN"]}


def _check_resource(key: TargetKey) -> None:
    namespace, resource, _dimension = key
    if namespace != "sagemaker":
        return
    kind, *names = resource.split("/")
    if kind != "endpoint" or len(names) != 3 or names[1] != "variant" or not sagemaker.endpoint_exists(names[0]):
        raise ApiError(
            "ValidationException",
            f"ECS or SageMaker resource does not exist: {resource}; write endpoint/NAME/variant/VARIANT of an endpoint",
        )


def _deregister_target(params: JsonObject) -> JsonObject:
    here, key = _here(), _key(params)
    if here.targets.pop(key, None) is None:
        raise ApiError("ObjectNotFoundException", f"No scalable target found for {', '.join(key)}")
    for policy in [policy for policy in here.policies if policy[0] == key]:
        del here.policies[policy]
    return {}


def _put_policy(params: JsonObject) -> JsonObject:
    here, key, name = _here(), _key(params), params["PolicyName"]
    if key not in here.targets:
        raise ApiError("ObjectNotFoundException", f"No scalable target registered for {', '.join(key)}")
    known = here.policies.get((key, name), {})
    defaults = {"PolicyType": "StepScaling", "CreationTime": time.time(), "PolicyARN": _policy_arn(key, name)}
    policy = {**defaults, **known, **params}
    needed = _CONFIGURATIONS[policy["PolicyType"]]
    if needed not in policy:
        raise ApiError("ValidationException", f"a policy of type {policy['PolicyType']} needs {needed}: give it")
    here.policies[key, name] = policy
    return {"PolicyARN": policy["PolicyARN"], "Alarms": []}


def _policy_arn(key: TargetKey, name: str) -> str:
    namespace, resource, _dimension = key
    return (
        f"arn:aws:autoscaling:{region()}:{account_id()}:scalingPolicy:{uuid.uuid4()}"
        f":resource/{namespace}/{resource}:policyName/{name}"
    )


def _delete_policy(params: JsonObject) -> JsonObject:
    if _here().policies.pop((_key(params), params["PolicyName"]), None) is None:
        raise ApiError("ObjectNotFoundException", f"No scaling policy found for {', '.join(_key(params))}")
    return {}


def _describe_targets(params: JsonObject) -> JsonObject:
    wanted = params.get("ResourceIds")
    return {
        "ScalableTargets": [
            target
            for target in _here().targets.values()
            if _matches(target, params) and (wanted is None or target["ResourceId"] in wanted)
        ]
    }


def _describe_policies(params: JsonObject) -> JsonObject:
    wanted = params.get("PolicyNames")
    return {
        "ScalingPolicies": [
            policy
            for policy in _here().policies.values()
            if _matches(policy, params) and (wanted is None or policy["PolicyName"] in wanted)
        ]
    }


def _matches(record: JsonObject, params: JsonObject) -> bool:
    return all(member not in params or record[member] == params[member] for member in _TARGET_MEMBERS)


_OPERATIONS: dict[str, Callable[[JsonObject], JsonObject]] = {
    "RegisterScalableTarget": _register_target,
    "DeregisterScalableTarget": _deregister_target,
    "DescribeScalableTargets": _describe_targets,
    "PutScalingPolicy": _put_policy,
    "DeleteScalingPolicy": _delete_policy,
    "DescribeScalingPolicies": _describe_policies,
}


async def _handle_request(
    method: str, path: str, headers: dict[str, str], body: bytes, query: dict[str, Any]
) -> Response:
    target = next((value for name, value in headers.items() if name.lower() == "x-amz-target"), "")
    try:
        return json_answer(call(target.rpartition(".")[2], json.loads(body or b"{}")))
    except ApiError as error:
        return json_refusal(error.code, str(error), error.status)
