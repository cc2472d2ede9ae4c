"""How many instances an endpoint has: between two bounds, by the requests that are in the air on each of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

from aws_cdk import Duration
from aws_cdk import aws_applicationautoscaling as autoscaling
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .compute import Compute
from .endpoint_metrics import SAGEMAKER_NAMESPACE, VARIANT_NAME
from .errors import InvalidArguments, did_you_mean
from .ranges import seconds_complaints

_CONCURRENCY = "ConcurrentRequestsPerModel"
_HIGH_RESOLUTION_CONCURRENCY = "SageMakerVariantConcurrentRequestsPerModelHighResolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """Instances are added and removed so that each has about `target_concurrency` requests, waiting ones included.

    Where a pool can run on several types, SageMaker publishes the requests for each type, and the policy divides all of
    them by all instances, each counted with the weight of its type.

    Parameters
    ----------
    max:
        The most instances, at least `min`. Each costs money while it runs.
    min:
        The fewest, at least 1: an endpoint of one model cannot scale to zero. Default: 1.
    target_concurrency:
        Requests on an instance, evaluated and waiting, above 0. An instance evaluates one decision at a time, so 2 is
        one that is evaluated and one that waits. Default: 2.
    scale_in_cooldown, scale_out_cooldown:
        How long after a change the next one may come, whole seconds. Default: 5 minutes and 1 minute. Adding is quick
        because instances that are still starting count; removing is slow because starting one takes minutes.
    weights:
        Of a pool with several types: how many requests a type is worth at the same latency, above 0, relative to the
        others: ``{"ml.g6e.xlarge": 2}`` for one that answers twice as fast as the rest. Measure it with your own
        questions. Default: 1 for every type.

    Raises
    ------
    InvalidArguments
        If a number is out of range; when given to an endpoint: if its first count is outside the bounds, or a weight is
        for a type that it does not have.

    Examples
    --------
    >>> Scaling(min=2, max=6).target_concurrency
    2
    >>> Scaling(min=0, max=6)
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: Scaling: min is 0: give at least 1, ...

    Source: Amazon SageMaker AI developer guide, "Define a scaling policy" and "Deploy to multiple instance types with
    instance pools"; Application Auto Scaling user guide, "Create a target tracking scaling policy using metric math".
    """

    max: int
    min: int = 1
    target_concurrency: float = 2
    scale_in_cooldown: Duration | None = None
    scale_out_cooldown: Duration | None = None
    weights: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        complaints = []
        if self.min < 1:
            complaints.append(
                f"min is {self.min}: give at least 1, for only endpoints of inference components scale to zero"
            )
        if self.max < self.min:
            complaints.append(f"max is {self.max} and min is {self.min}: give at least as many")
        if not (self.target_concurrency > 0 and isfinite(self.target_concurrency)):
            complaints.append(f"target_concurrency is {self.target_concurrency:g}: give a number above 0")
        for what, cooldown in (
            ("scale_in_cooldown", self.scale_in_cooldown),
            ("scale_out_cooldown", self.scale_out_cooldown),
        ):
            complaints += seconds_complaints(what, cooldown, least=0) if cooldown else []
        complaints += [
            f"the weight of {name} is {weight:g}: give a number above 0"
            for name, weight in (self.weights or {}).items()
            if not (weight > 0 and isfinite(weight))
        ]
        if complaints:
            raise InvalidArguments("Scaling", complaints)

    def complaints(self, *, instance_count: int, compute: Compute) -> list[str]:
        """What does not go with the endpoint that scales."""
        complaints = []
        if not self.min <= instance_count <= self.max:
            bounds = f"scaling goes from {self.min} to {self.max}"
            complaints.append(f"instance_count is {instance_count} and {bounds}: give a count within, or leave it out")
        types = [member.name for member in compute.members]
        if self.weights and len(types) == 1:
            complaints.append(f"scaling has weights and the endpoint runs on {types[0]} alone: leave them out")
        elif self.weights:
            complaints += [
                f"scaling has a weight for {name}, which the endpoint does not run on: {did_you_mean(name, types)}"
                for name in self.weights
                if name not in types
            ]
        return complaints


class EndpointScaling(Construct):
    """The scalable target and the policy of an endpoint's production variant.

    Attributes
    ----------
    cfn_scalable_target, cfn_scaling_policy:
        The resources themselves.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        scaling: Scaling,
        endpoint: sagemaker.CfnEndpoint,
        endpoint_name: str,
        compute: Compute,
    ) -> None:
        super().__init__(scope, id)
        # No role: Application Auto Scaling uses, and makes if need be, its service-linked one.
        self.cfn_scalable_target = autoscaling.CfnScalableTarget(
            self,
            "Target",
            service_namespace="sagemaker",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            resource_id=f"endpoint/{endpoint_name}/variant/{VARIANT_NAME}",
            min_capacity=scaling.min,
            max_capacity=scaling.max,
        )
        # The name in the resource id is plain text, so nothing else makes it wait.
        self.cfn_scalable_target.add_resource_dependency(endpoint)
        several = len(compute.members) > 1
        self.cfn_scaling_policy = autoscaling.CfnScalingPolicy(
            self,
            "Policy",
            policy_name=f"{endpoint_name}-concurrency",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.cfn_scalable_target.ref,
            target_tracking_scaling_policy_configuration=(
                autoscaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                    target_value=scaling.target_concurrency,
                    scale_in_cooldown=(scaling.scale_in_cooldown or Duration.minutes(5)).to_seconds(),
                    scale_out_cooldown=(scaling.scale_out_cooldown or Duration.minutes(1)).to_seconds(),
                    predefined_metric_specification=None if several else _concurrency(),
                    customized_metric_specification=(
                        _weighted_concurrency(scaling, endpoint_name, compute) if several else None
                    ),
                )
            ),
        )


def _concurrency() -> autoscaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty:
    return autoscaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty(
        predefined_metric_type=_HIGH_RESOLUTION_CONCURRENCY
    )


def _weighted_concurrency(
    scaling: Scaling, endpoint_name: str, compute: Compute
) -> autoscaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty:
    """All requests, divided by all instances with their weights.

    Each instance publishes its requests as one sample: of a type, the sum of the samples is the requests on all its
    instances, and their number stands for the instances. A type that has no instance publishes nothing, which SUM of a
    list leaves out. Five types make ten metrics, which is the most that an alarm may have.
    """
    queries = []
    requests, instances = [], []
    for number, member in enumerate(compute.members, start=1):
        queries += [
            _type_metric(f"requests{number}", "Sum", endpoint_name, member.name),
            _type_metric(f"samples{number}", "SampleCount", endpoint_name, member.name),
        ]
        requests.append(f"requests{number}")
        weight = (scaling.weights or {}).get(member.name, 1)
        if weight == 1:
            instances.append(f"samples{number}")
        else:
            queries.append(_expression(f"weighted{number}", f"{weight:g} * samples{number}", label=member.name))
            instances.append(f"weighted{number}")
    concurrency = f"SUM([{', '.join(requests)}]) / SUM([{', '.join(instances)}])"
    label = "Requests on an instance, by weight"
    return autoscaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty(
        metrics=[*queries, _expression("concurrency", concurrency, label=label, return_data=True)]
    )


def _expression(
    id: str, expression: str, *, label: str, return_data: bool = False
) -> autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty:
    return autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty(
        id=id, expression=expression, label=label, return_data=return_data
    )


def _type_metric(
    id: str, stat: str, endpoint_name: str, instance_type: str
) -> autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty:
    dimensions = {"EndpointName": endpoint_name, "VariantName": VARIANT_NAME, "InstanceType": instance_type}
    return autoscaling.CfnScalingPolicy.TargetTrackingMetricDataQueryProperty(
        id=id,
        metric_stat=autoscaling.CfnScalingPolicy.TargetTrackingMetricStatProperty(
            metric=autoscaling.CfnScalingPolicy.TargetTrackingMetricProperty(
                namespace=SAGEMAKER_NAMESPACE,
                metric_name=_CONCURRENCY,
                dimensions=[
                    autoscaling.CfnScalingPolicy.TargetTrackingMetricDimensionProperty(name=name, value=value)
                    for name, value in dimensions.items()
                ],
            ),
            stat=stat,
        ),
        return_data=False,
    )
