from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk.assertions import Template

from decision_endpoints import InvalidArguments, Rollout
from tests.support.synth import endpoint, new_stack, resources, source


def _deployment(template: Template) -> dict[str, Any]:
    (endpoint,) = resources(template, "AWS::SageMaker::Endpoint")
    return dict(endpoint["Properties"]["DeploymentConfig"])


def _alarms(stack: Stack, count: int) -> list[cloudwatch.IAlarm]:
    arn = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:Slow"
    return [cloudwatch.Alarm.from_alarm_arn(stack, f"Alarm{number}", f"{arn}{number}") for number in range(count)]


def test_without_a_rollout_sagemaker_is_told_nothing(template: Template) -> None:
    (endpoint,) = resources(template, "AWS::SageMaker::Endpoint")

    assert "DeploymentConfig" not in endpoint["Properties"]


def test_a_canary_shifts_a_part_and_watches_it(everything: Template) -> None:
    assert _deployment(everything)["BlueGreenUpdatePolicy"] == {
        "TrafficRoutingConfiguration": {
            "Type": "CANARY",
            "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 10},
            "WaitIntervalInSeconds": 900,
        },
        "TerminationWaitInSeconds": 300,
        "MaximumExecutionTimeoutInSeconds": 3600,
    }


def test_a_rolling_update_is_no_blue_green_one(gpu_pool: Template) -> None:
    deployment = _deployment(gpu_pool)

    assert "BlueGreenUpdatePolicy" not in deployment
    assert deployment["RollingUpdatePolicy"] == {
        "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 25},
        "WaitIntervalInSeconds": 600,
    }


def test_alarms_that_come_later_roll_back_too(gpu_pool: Template) -> None:
    alarms = _deployment(gpu_pool)["AutoRollbackConfiguration"]["Alarms"]

    assert {alarm["AlarmName"]["Ref"] for alarm in alarms} == set(gpu_pool.find_resources("AWS::CloudWatch::Alarm"))


def test_the_role_sees_exactly_the_alarms_that_roll_back(gpu_pool: Template) -> None:
    described = [
        statement["Resource"]
        for policy in resources(gpu_pool, "AWS::IAM::Policy")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "cloudwatch:DescribeAlarms"
    ]

    arns = [arn for resource in described for arn in (resource if isinstance(resource, list) else [resource])]
    alarms = gpu_pool.find_resources("AWS::CloudWatch::Alarm")
    assert sorted(arn["Fn::GetAtt"][0] for arn in arns) == sorted(alarms)


def test_alarms_alone_make_all_at_once_watch_for_a_while(tmp_path: Path) -> None:
    stack = new_stack()
    endpoint(stack, source(tmp_path)).roll_back_on(*_alarms(stack, 1))

    assert _deployment(Template.from_stack(stack)) == {
        "AutoRollbackConfiguration": {"Alarms": [{"AlarmName": "Slow0"}]},
        "BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": {"Type": "ALL_AT_ONCE", "WaitIntervalInSeconds": 300}},
    }


def test_an_eleventh_alarm_is_refused_and_the_same_one_again_is_not(tmp_path: Path) -> None:
    stack = new_stack()
    alarms = _alarms(stack, 11)
    made = endpoint(stack, source(tmp_path), rollout=Rollout.all_at_once(alarms=alarms[:9]))
    made.roll_back_on(alarms[0], alarms[9])

    with pytest.raises(InvalidArguments, match="there are 11 alarms: SageMaker watches at most 10"):
        made.roll_back_on(alarms[10])


@pytest.mark.parametrize(
    ("make", "least", "most"),
    [(Rollout.canary, 1, 50), (Rollout.linear, 10, 50), (Rollout.rolling, 5, 50)],
    ids=["canary", "linear", "rolling"],
)
def test_a_step_is_of_the_size_that_sagemaker_takes(make: Callable[..., Rollout], least: int, most: int) -> None:
    assert (make(percent=least).percent, make(percent=most).percent) == (least, most)
    for percent in (least - 1, most + 1):
        with pytest.raises(InvalidArguments, match=f"percent is {percent}: give {least} to {most}"):
            make(percent=percent)


def test_all_that_is_wrong_with_a_rollout_is_said_in_one_message() -> None:
    with pytest.raises(InvalidArguments) as refused:
        Rollout.canary(
            percent=0,
            bake=Duration.hours(2),
            termination_wait=Duration.hours(3),
            timeout=Duration.minutes(5),
            alarms=_alarms(new_stack(), 11),
        )

    found = ["percent is 0", "bake is 7200", "termination_wait is 10800", "timeout is 300", "11 alarms"]
    assert len(refused.value.complaints) == len(found)
    assert all(part in complaint for part, complaint in zip(found, refused.value.complaints, strict=True))


def test_a_timeout_that_the_waiting_alone_exceeds_is_refused() -> None:
    with pytest.raises(InvalidArguments, match=r"interval and termination_wait take 2400 together"):
        Rollout.linear(percent=25, interval=Duration.minutes(10), timeout=Duration.minutes(40))


@pytest.mark.parametrize("rollout", [Rollout.canary(), Rollout.linear(), Rollout.rolling()], ids=lambda r: str(r.kind))
def test_one_instance_cannot_be_updated_in_parts(rollout: Rollout) -> None:
    (complaint,) = rollout.complaints(fewest_instances=1, shadowed=False)
    assert "give it 2" in complaint
    assert rollout.complaints(fewest_instances=2, shadowed=False) == []


def test_one_instance_can_be_updated_all_at_once() -> None:
    assert Rollout.all_at_once().complaints(fewest_instances=1, shadowed=True) == []


def test_batch_by_batch_is_for_endpoints_of_one_variant() -> None:
    (complaint,) = Rollout.rolling().complaints(fewest_instances=2, shadowed=True)
    assert "there is a shadow" in complaint
