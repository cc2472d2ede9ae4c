"""How many instances of which types the endpoints of the templates can come to need."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decision_client.assembly import Resource, Stack
from decision_client.doctor.template_lookup import known_before_deploy
from decision_client.place import Place
from decision_client.template_values import Lookup, Unresolved, references, resolve


@dataclass(frozen=True)
class Fleet:
    """One variant of one endpoint.

    Parameters
    ----------
    endpoint:
        The endpoint, for a person.
    types:
        Its instance type, or the types of its pool, each of which may have to carry all instances.
    initial, most:
        Instances at first, and at most when it scales.
    beside:
        Instances that an update adds while the old ones still answer.
    driver_ami:
        `InferenceAmiVersion`, where it is set.
    is_counted:
        False where the template leaves one of these numbers to the deploy: there may be more.
    """

    endpoint: str
    types: tuple[str, ...]
    initial: int
    most: int
    beside: int
    driver_ami: str | None
    is_counted: bool = True

    @property
    def needed(self) -> int:
        """Instances while an update runs at full scale."""
        return self.most + self.beside


def fleets_of(stacks: Sequence[Stack], place: Place) -> list[Fleet]:
    """Every variant and shadow variant that runs on instances."""
    return [fleet for stack in stacks for fleet in _fleets_of_stack(stack, place)]


def _fleets_of_stack(stack: Stack, place: Place) -> Iterator[Fleet]:
    lookup = known_before_deploy(stack, place)
    limits = dict(_scaling_limits(stack, lookup))
    endpoints = {
        reference.name: endpoint
        for endpoint in stack.of_type("AWS::SageMaker::Endpoint")
        for reference in references(endpoint.properties.get("EndpointConfigName"))
    }
    for config in stack.of_type("AWS::SageMaker::EndpointConfig"):
        endpoint = endpoints.get(config.logical_id)
        name = _endpoint_name(endpoint, config, lookup)
        for variant in [
            *config.properties.get("ProductionVariants", []),
            *config.properties.get("ShadowProductionVariants", []),
        ]:
            types = _types(variant)
            if not types:
                continue
            counts = [
                _count(variant.get("InitialInstanceCount", 1), lookup),
                limits.get(f"endpoint/{name}/variant/{variant.get('VariantName')}", 0),
                _count(variant.get("ManagedInstanceScaling", {}).get("MaxInstanceCount", 0), lookup),
            ]
            initial = counts[0] or 1
            most = max(initial, *(count or 0 for count in counts))
            beside = _added_by_update(endpoint, most, lookup)
            ami, is_counted = variant.get("InferenceAmiVersion"), None not in (*counts, beside)
            yield Fleet(name, types, initial, most, most if beside is None else beside, ami, is_counted)


def _count(value: object, lookup: Lookup) -> int | None:
    """A number of a template; None where it is a parameter, or anything else that only the deploy knows."""
    try:
        return int(resolve(value, lookup))
    except (Unresolved, ValueError):
        return None


def _types(variant: Mapping[str, Any]) -> tuple[str, ...]:
    single = variant.get("InstanceType")
    pools = [pool.get("InstanceType") for pool in variant.get("InstancePools", [])]
    return tuple(dict.fromkeys(name for name in (single, *pools) if isinstance(name, str)))


def _endpoint_name(endpoint: Resource | None, config: Resource, lookup: Lookup) -> str:
    if endpoint is None:
        return f"<{config.logical_id}>"
    given = endpoint.properties.get("EndpointName")
    try:
        return f"<{endpoint.logical_id}>" if given is None else resolve(given, lookup)
    except Unresolved:
        return f"<{endpoint.logical_id}>"


def _scaling_limits(stack: Stack, lookup: Lookup) -> Iterator[tuple[str, int | None]]:
    """The most instances of each scalable target of SageMaker, by its resource id."""
    for target in stack.of_type("AWS::ApplicationAutoScaling::ScalableTarget"):
        if target.properties.get("ServiceNamespace") == "sagemaker":
            try:
                yield (
                    resolve(target.properties.get("ResourceId"), lookup),
                    _count(target.properties.get("MaxCapacity", 0), lookup),
                )
            except Unresolved:
                continue


def _added_by_update(endpoint: Resource | None, instances: int, lookup: Lookup) -> int | None:
    """A blue/green update, which is the default, makes a second fleet; a rolling one, one batch.

    Source: Amazon SageMaker AI developer guide, "Deployment guardrails".
    """
    deployment = endpoint.properties.get("DeploymentConfig", {}) if endpoint else {}
    batch = deployment.get("RollingUpdatePolicy", {}).get("MaximumBatchSize")
    if not batch:
        return instances
    value = _count(batch.get("Value", 1), lookup)
    if value is None:
        return None
    return math.ceil(instances * value / 100) if batch.get("Type") == "CAPACITY_PERCENT" else min(value, instances)
