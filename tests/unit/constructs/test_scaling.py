from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest
from aws_cdk import Duration
from aws_cdk.assertions import Template

from decision_endpoints import CpuInstance, GpuPool, InvalidArguments, Scaling
from tests.support.synth import resources


def _policy(template: Template) -> dict[str, Any]:
    (policy,) = resources(template, "AWS::ApplicationAutoScaling::ScalingPolicy")
    return dict(policy["Properties"]["TargetTrackingScalingPolicyConfiguration"])


def test_the_target_waits_for_the_endpoint_whose_name_it_only_spells(everything: Template) -> None:
    (endpoint,) = everything.find_resources("AWS::SageMaker::Endpoint")
    (target,) = resources(everything, "AWS::ApplicationAutoScaling::ScalableTarget")

    assert target["DependsOn"] == [endpoint]
    assert target["Properties"]["ResourceId"] == "endpoint/decisions-test/variant/main"


def test_scaling_has_no_role_of_its_own_since_there_is_a_service_linked_one(everything: Template) -> None:
    (target,) = resources(everything, "AWS::ApplicationAutoScaling::ScalableTarget")

    assert "RoleARN" not in target["Properties"]


def test_a_single_type_scales_on_the_metric_that_comes_every_ten_seconds(everything: Template) -> None:
    assert _policy(everything) == {
        "TargetValue": 2,
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 60,
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
        },
    }


def test_a_pool_divides_all_requests_by_all_instances_with_the_weights_of_their_types(gpu_pool: Template) -> None:
    metrics = _policy(gpu_pool)["CustomizedMetricSpecification"]["Metrics"]

    assert _expressions(gpu_pool) == {
        "weighted1": "2.5 * samples1",
        "concurrency": "SUM([requests1, requests2]) / SUM([weighted1, samples2])",
    }
    assert [query["Id"] for query in metrics if query["ReturnData"]] == ["concurrency"]
    assert [
        (query["Id"], query["MetricStat"]["Stat"], _instance_type(query)) for query in metrics if "MetricStat" in query
    ] == [
        ("requests1", "Sum", "ml.g6e.xlarge"),
        ("samples1", "SampleCount", "ml.g6e.xlarge"),
        ("requests2", "Sum", "ml.g5.xlarge"),
        ("samples2", "SampleCount", "ml.g5.xlarge"),
    ]


def test_the_weighted_metric_counts_a_fast_instance_as_more_than_one(gpu_pool: Template) -> None:
    # In a minute each instance publishes six samples: 5 requests are on a fast one, 2 on each of two others.
    samples = {"requests1": 6 * 5, "samples1": 6, "requests2": 2 * 6 * 2, "samples2": 12}

    assert _evaluated(_expressions(gpu_pool), samples) == pytest.approx((5 + 2 + 2) / (2.5 + 1 + 1))


def test_a_type_without_an_instance_counts_for_nothing(gpu_pool: Template) -> None:
    assert _evaluated(_expressions(gpu_pool), {"requests2": 18, "samples2": 6}) == 3


def test_five_types_need_no_more_metrics_than_an_alarm_may_have(gpu_pool: Template) -> None:
    most_types, most_metrics = 5, 10
    types = 2

    queries = [each for each in _policy(gpu_pool)["CustomizedMetricSpecification"]["Metrics"] if "MetricStat" in each]
    assert len(queries) / types * most_types <= most_metrics


def test_an_update_keeps_the_count_only_where_scaling_is_on(everything: Template, template: Template) -> None:
    (scaled,) = resources(everything, "AWS::SageMaker::Endpoint")
    (fixed,) = resources(template, "AWS::SageMaker::Endpoint")

    assert scaled["Properties"]["RetainAllVariantProperties"] is True
    # There, a changed count in a file would be a silent no-op.
    assert "RetainAllVariantProperties" not in fixed["Properties"]


def test_an_endpoint_that_scales_starts_with_the_fewest(everything: Template) -> None:
    (config,) = resources(everything, "AWS::SageMaker::EndpointConfig")

    assert config["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] == 2


def test_all_that_is_wrong_with_scaling_is_said_in_one_message() -> None:
    with pytest.raises(InvalidArguments) as refused:
        Scaling(
            min=0,
            max=-1,
            target_concurrency=0,
            scale_in_cooldown=Duration.millis(1500),
            weights={"ml.g5.xlarge": 0},
        )

    found = [
        "min is 0",
        "max is -1",
        "target_concurrency is 0",
        "scale_in_cooldown is 1.5 seconds",
        "ml.g5.xlarge is 0",
    ]
    assert len(refused.value.complaints) == len(found)
    assert all(part in complaint for part, complaint in zip(found, refused.value.complaints, strict=True))


def test_a_number_that_no_template_can_hold_is_refused() -> None:
    with pytest.raises(InvalidArguments) as refused:
        Scaling(max=2, target_concurrency=float("inf"), weights={"ml.g5.xlarge": float("inf")})

    assert refused.value.complaints == (
        "target_concurrency is inf: give a number above 0",
        "the weight of ml.g5.xlarge is inf: give a number above 0",
    )


@pytest.mark.parametrize("count", [1, 5])
def test_a_first_count_outside_the_bounds_is_refused(count: int) -> None:
    complaints = Scaling(min=2, max=4).complaints(instance_count=count, compute=CpuInstance("ml.c6i.xlarge"))

    assert complaints == [
        f"instance_count is {count} and scaling goes from 2 to 4: give a count within, or leave it out"
    ]


def test_a_weight_for_a_type_that_is_not_in_the_pool_is_refused_with_the_nearest_one() -> None:
    scaling = Scaling(max=2, weights={"ml.g6.xlrge": 2})

    (complaint,) = scaling.complaints(instance_count=1, compute=GpuPool(["ml.g6.xlarge", "ml.g5.2xlarge"]))
    assert complaint.endswith("did you mean ml.g6.xlarge?")


def test_weights_of_a_single_type_are_refused_since_they_would_do_nothing() -> None:
    scaling = Scaling(max=2, weights={"ml.c6i.xlarge": 2})

    (complaint,) = scaling.complaints(instance_count=1, compute=CpuInstance("ml.c6i.xlarge"))
    assert "leave them out" in complaint


def _instance_type(query: dict[str, Any]) -> str:
    dimensions = {each["Name"]: each["Value"] for each in query["MetricStat"]["Metric"]["Dimensions"]}
    assert (dimensions["EndpointName"], dimensions["VariantName"]) == ("decisions-test", "main")
    return str(dimensions["InstanceType"])


def _expressions(template: Template) -> dict[str, str]:
    metrics = _policy(template)["CustomizedMetricSpecification"]["Metrics"]
    return {query["Id"]: query["Expression"] for query in metrics if "Expression" in query}


def _evaluated(expressions: Mapping[str, str], metrics: Mapping[str, float]) -> float:
    """The metric math of one period: what depends on a metric without data has none, and SUM leaves it out."""
    known = dict(metrics)
    for name, expression in expressions.items():
        if product := re.fullmatch(r"([0-9.]+) \* (\w+)", expression):
            if product[2] in known:
                known[name] = float(product[1]) * known[product[2]]
        else:
            above, below = re.findall(r"SUM\(\[([^]]+)\]\)", expression)
            known[name] = _sum(above, known) / _sum(below, known)
    return known["concurrency"]


def _sum(names: str, known: Mapping[str, float]) -> float:
    return sum(known[name] for name in names.split(", ") if name in known)
