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
    """

    endpoint: str
    types: tuple[str, ...]
    initial: int
    most: int
    beside: int
    driver_ami: str | None

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
            initial = int(variant.get("InitialInstanceCount") or 1)
            scaled = limits.get(f"endpoint/{name}/variant/{variant.get('VariantName')}", initial)
            most = max(initial, scaled, int(variant.get("ManagedInstanceScaling", {}).get("MaxInstanceCount") or 0))
            beside = _added_by_update(endpoint, most)
            yield Fleet(name, types, initial, most, beside, variant.get("InferenceAmiVersion"))


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


def _scaling_limits(stack: Stack, lookup: Lookup) -> Iterator[tuple[str, int]]:
    """The most instances of each scalable target of SageMaker, by its resource id."""
    for target in stack.of_type("AWS::ApplicationAutoScaling::ScalableTarget"):
        if target.properties.get("ServiceNamespace") == "sagemaker":
            try:
                yield (
                    resolve(target.properties.get("ResourceId"), lookup),
                    int(target.properties.get("MaxCapacity") or 0),
                )
            except Unresolved:
                continue


def _added_by_update(endpoint: Resource | None, instances: int) -> int:
    """A blue/green update, which is the default, makes a second fleet; a rolling one, one batch.

    Source: Amazon SageMaker AI developer guide, "Deployment guardrails".
    """
    deployment = endpoint.properties.get("DeploymentConfig", {}) if endpoint else {}
    batch = deployment.get("RollingUpdatePolicy", {}).get("MaximumBatchSize")
    if not batch:
        return instances
    value = int(batch.get("Value") or 1)
    return math.ceil(instances * value / 100) if batch.get("Type") == "CAPACITY_PERCENT" else min(value, instances)
