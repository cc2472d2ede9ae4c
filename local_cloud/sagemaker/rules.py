"""What SageMaker demands of a request beyond its shape: which fields exclude each other, and which belong together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.cloudwatch import alarms
from local_cloud.sagemaker.baking import alarm_names

# Families with NVMe disks of their own: of the GPU instances nearly all, of others those with a d behind the number.
_LOCAL_STORAGE = re.compile(r"ml\.(g4dn|g5|g6e?|gr6|p3dn|p4de?|p5e?n?|trn1n?|[cmr][0-9]+[a-z]*d[a-z]*|i[0-9][a-z]*)\.")

_LEAST_SHARE = {"CanarySize": 1, "LinearStepSize": 10, "MaximumBatchSize": 5, "RollbackMaximumBatchSize": 1}
_MOST_SHARE = 50
"""Percent of the capacity that one step may shift (API reference, TrafficRoutingConfig and RollingUpdatePolicy)."""


def check_model(request: JsonObject) -> None:
    """Refuse a model that SageMaker would refuse, or that this cloud cannot host."""
    containers = containers_of(request)
    if ("PrimaryContainer" in request) == bool(request.get("Containers")):
        raise _refusal("You must provide either PrimaryContainer or Containers, not both.")
    if len(containers) > 1:
        raise _refusal(f"The local cloud hosts one container per model, this model has {len(containers)}.")
    for container in containers:
        _check_container(container)


def containers_of(request: JsonObject) -> list[JsonObject]:
    """The containers of a CreateModel request."""
    return [request["PrimaryContainer"]] if "PrimaryContainer" in request else list(request.get("Containers", []))


def _check_container(container: JsonObject) -> None:
    if "Image" not in container:
        raise _refusal("The local cloud needs Image in a container definition; it has no model packages.")
    if "ModelDataUrl" in container and "ModelDataSource" in container:
        raise _refusal("You must provide either ModelDataUrl or ModelDataSource, not both.")
    if container.get("Mode") == "MultiModel":
        raise _refusal("The local cloud hosts containers of Mode SingleModel only.")
    if container.get("AdditionalModelDataSources"):
        raise _refusal("The local cloud lays out ModelDataSource only, not AdditionalModelDataSources.")


def check_endpoint_config(request: JsonObject) -> None:
    """Refuse an endpoint configuration that SageMaker would refuse, or that this cloud cannot host."""
    variants = request["ProductionVariants"]
    if len(variants) != 1 or request.get("ShadowProductionVariants"):
        raise _refusal("The local cloud hosts one production variant per endpoint and no shadow variants.")
    if "AsyncInferenceConfig" in request:
        raise _refusal("The local cloud hosts real-time endpoints only: remove AsyncInferenceConfig.")
    for variant in variants:
        _check_variant(variant)
    _check_volume_key(request)


def _check_variant(variant: JsonObject) -> None:
    name = variant["VariantName"]
    if "ModelName" not in variant:
        raise _refusal(f"Variant {name} has no ModelName; the local cloud has no inference components.")
    if "ServerlessConfig" in variant:
        raise _refusal(f"Variant {name} has ServerlessConfig; the local cloud hosts instances only.")
    if ("InstanceType" in variant) == ("InstancePools" in variant):
        raise _refusal(f"Variant {name}: specify either InstanceType or InstancePools, and not both.")
    if "InitialInstanceCount" not in variant:
        raise _refusal(f"Variant {name} must specify InitialInstanceCount.")
    priorities = [pool["Priority"] for pool in variant.get("InstancePools", [])]
    if _repeats(priorities):
        raise _refusal(f"Variant {name}: InstancePools have priorities {priorities}; each priority may occur once.")
    types = _instance_types(variant)
    if _repeats(types):
        raise _refusal(f"Variant {name}: InstancePools have instance types {types}; each type may occur once.")
    local = _with_local_storage(types)
    if "VolumeSizeInGB" in variant and local:
        raise _refusal(
            f"Variant {name}: VolumeSizeInGB cannot be given for {', '.join(local)}, which have local storage."
        )


def _check_volume_key(request: JsonObject) -> None:
    variants = request["ProductionVariants"]
    local = [kind for variant in variants for kind in _with_local_storage(_instance_types(variant))]
    if "KmsKeyId" in request and local:
        raise _refusal(
            f"KmsKeyId cannot be given for {', '.join(local)}: the local storage of these instances is encrypted by the"
            " instance itself."
        )


def _instance_types(variant: JsonObject) -> list[str]:
    pools = [str(pool["InstanceType"]) for pool in variant.get("InstancePools", [])]
    return pools or [str(variant["InstanceType"])] if "InstanceType" in variant or pools else []


def _with_local_storage(types: Iterable[str]) -> list[str]:
    return [kind for kind in types if _LOCAL_STORAGE.match(kind)]


def check_deployment(config: JsonObject | None) -> None:
    """Refuse a deployment configuration that SageMaker would refuse."""
    if config is None:
        return
    if "BlueGreenUpdatePolicy" in config and "RollingUpdatePolicy" in config:
        raise _refusal("Specify either BlueGreenUpdatePolicy or RollingUpdatePolicy, not both.")
    routing = config.get("BlueGreenUpdatePolicy", {}).get("TrafficRoutingConfiguration", {})
    sizes = {"CANARY": "CanarySize", "LINEAR": "LinearStepSize"}
    for traffic_type, size in sizes.items():
        if (routing.get("Type") == traffic_type) != (size in routing) and routing:
            raise _refusal(f"TrafficRoutingConfiguration needs {size} with Type {traffic_type}, and only then.")
        _check_share(size, routing.get(size), least=_LEAST_SHARE[size])
    for size in ("MaximumBatchSize", "RollbackMaximumBatchSize"):
        _check_share(size, config.get("RollingUpdatePolicy", {}).get(size), least=_LEAST_SHARE[size])
    names = alarm_names(config)
    missing = alarms.missing(names)
    if missing:
        raise _refusal(f"AutoRollbackConfiguration names alarms that do not exist: {', '.join(missing)}.")


def _check_share(size: str, capacity: JsonObject | None, *, least: int) -> None:
    if capacity is None or capacity["Type"] != "CAPACITY_PERCENT":
        return
    most = 100 if size == "RollbackMaximumBatchSize" else _MOST_SHARE
    if not least <= capacity["Value"] <= most:
        raise _refusal(f"{size} is {capacity['Value']} percent of the capacity: it must be {least} to {most}.")


def _repeats(values: Iterable[Any]) -> bool:
    listed = list(values)
    return len(set(listed)) != len(listed)


def _refusal(message: str) -> ApiError:
    return ApiError("ValidationException", message)
