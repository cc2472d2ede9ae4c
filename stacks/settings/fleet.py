"""How many instances, where they are, and how an update reaches them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any, Self

from aws_cdk import Duration
from aws_cdk import aws_ec2 as ec2
from constructs import Construct
from pydantic import Field, model_validator

from decision_endpoints import Network, Rollout, Scaling

from .section import Section, exactly_one_of, without_unset

# The CDK wants zones; what SageMaker is told is the ids of the subnets alone.
_ANY_ZONE = "any"


def _is_id(kind: str, text: str) -> bool:
    return re.fullmatch(f"{kind}-[0-9a-f]+", text) is not None


def _minutes(count: int | None) -> Duration | None:
    return None if count is None else Duration.minutes(count)


class ScalingSettings(Section):
    """Between `min` and `max` instances, by the requests on each."""

    max: int
    min: int | None = None
    target_concurrency: float | int | None = None
    weights: dict[str, float | int] | None = None

    @model_validator(mode="after")
    def _is_in_range(self) -> Self:
        self.scaling()
        return self

    def scaling(self) -> Scaling:
        """As the endpoint takes it."""
        given: dict[str, Any] = without_unset(dict(self))
        return Scaling(**given)


class Steps(Section):
    """One way of a rollout. Percent of the fleet, minutes between the steps."""

    percent: int | None = None
    bake_minutes: Annotated[int, Field(ge=0)] | None = None


class RolloutSettings(Section):
    """Exactly one of `canary`, `linear`, `rolling` and `all_at_once`."""

    canary: Steps | None = None
    linear: Steps | None = None
    rolling: Steps | None = None
    all_at_once: Steps | None = None

    @model_validator(mode="after")
    def _is_in_range(self) -> Self:
        self.rollout()
        return self

    def rollout(self) -> Rollout:
        """As the endpoint takes it, still without alarms."""
        kind = exactly_one_of(self, "canary", "linear", "rolling", "all_at_once")
        steps: Steps = getattr(self, kind)
        if kind == "all_at_once" and steps.percent is not None:
            raise ValueError("percent cannot stand in all_at_once: leave it out")
        wait = "interval" if kind == "linear" else "bake"
        make: Callable[..., Rollout] = getattr(Rollout, kind)
        return make(**without_unset({"percent": steps.percent, wait: _minutes(steps.bake_minutes)}))


class NetworkSettings(Section):
    """A VPC with subnets, and security groups or none, that are there already: nothing is looked up."""

    vpc: str
    subnets: list[str]
    security_groups: list[str] | None = None

    @model_validator(mode="after")
    def _are_ids(self) -> Self:
        groups = self.security_groups or []
        named = [("vpc", self.vpc), *[("subnet", each) for each in self.subnets], *[("sg", each) for each in groups]]
        wrong = [f"{each!r:.40} is no id: give {kind}-<hex digits>" for kind, each in named if not _is_id(kind, each)]
        if wrong:
            raise ValueError("; ".join(wrong))
        return self

    def network(self, scope: Construct) -> Network:
        """As the endpoint takes it."""
        subnets = [
            ec2.Subnet.from_subnet_attributes(scope, f"Subnet{number}", subnet_id=subnet, availability_zone=_ANY_ZONE)
            for number, subnet in enumerate(self.subnets, start=1)
        ]
        groups = [
            ec2.SecurityGroup.from_security_group_id(scope, f"SecurityGroup{number}", group, mutable=False)
            for number, group in enumerate(self.security_groups or [], start=1)
        ]
        return Network(
            vpc=ec2.Vpc.from_vpc_attributes(scope, "Vpc", vpc_id=self.vpc, availability_zones=[_ANY_ZONE]),
            subnets=ec2.SubnetSelection(subnets=subnets),
            security_groups=groups or None,
        )
