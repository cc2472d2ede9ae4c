"""An update under watch: its alarms must exist, and one that goes off brings back what served before."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.exceptions import ClientError

from local_cloud.aws_model import ApiError
from local_cloud.sagemaker import rules
from local_cloud.sagemaker.baking import Watch, bake_cap
from tests.support.hosting import Hosting
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from mypy_boto3_sagemaker.type_defs import DeploymentConfigUnionTypeDef


def routing(kind: str, *, wait: int = 0, **sizes: int) -> dict[str, Any]:
    shares = {size: {"Type": "CAPACITY_PERCENT", "Value": value} for size, value in sizes.items()}
    return {"Type": kind, "WaitIntervalInSeconds": wait, **shares}


def blue_green(kind: str, *alarms: str, wait: int = 0, **sizes: int) -> dict[str, Any]:
    policy = {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": routing(kind, wait=wait, **sizes)}}
    watched = {"AutoRollbackConfiguration": {"Alarms": [{"AlarmName": name} for name in alarms]}} if alarms else {}
    return {**policy, **watched}


def rolling(percent: int) -> dict[str, Any]:
    batch = {"Type": "CAPACITY_PERCENT", "Value": percent}
    return {"RollingUpdatePolicy": {"MaximumBatchSize": batch, "WaitIntervalInSeconds": 0}}


@pytest.fixture
def alarm(hosting: Hosting) -> str:
    """The name of an alarm that nothing has moved yet."""
    name = f"alarm-{uuid.uuid4().hex[:8]}"
    hosting.cloudwatch.put_metric_alarm(
        AlarmName=name,
        Namespace="None",
        MetricName="None",
        Statistic="Sum",
        Period=60,
        EvaluationPeriods=1,
        Threshold=1,
        ComparisonOperator="GreaterThanThreshold",
    )
    return name


def update(hosting: Hosting, endpoint: str, config: str, deployment: dict[str, Any]) -> None:
    hosting.sagemaker.update_endpoint(
        EndpointName=endpoint,
        EndpointConfigName=config,
        DeploymentConfig=cast("DeploymentConfigUnionTypeDef", deployment),
    )


def test_an_alarm_in_the_baking_time_brings_back_the_process_that_served_before(hosting: Hosting, alarm: str) -> None:
    endpoint = hosting.deploy(environment={"RELEASE": "old"})
    before = hosting.ask(endpoint)["pid"]
    new = hosting.define(environment={"RELEASE": "new"})

    update(hosting, endpoint, new, blue_green("CANARY", alarm, wait=600, CanarySize=10))
    eventually(lambda: hosting.ask(endpoint)["environment"]["RELEASE"] == "new", "the new release serves")
    hosting.cloudwatch.set_alarm_state(AlarmName=alarm, StateValue="ALARM", StateReason="a test")

    description = hosting.settled(endpoint)
    assert (description["EndpointStatus"], description["EndpointConfigName"]) == ("InService", endpoint)
    assert alarm in description["FailureReason"]
    assert hosting.ask(endpoint)["pid"] == before


def test_quiet_alarms_let_an_update_through(hosting: Hosting, alarm: str) -> None:
    endpoint = hosting.deploy(environment={"RELEASE": "old"})
    new = hosting.define(environment={"RELEASE": "new"})

    update(hosting, endpoint, new, blue_green("LINEAR", alarm, LinearStepSize=50))

    description = hosting.settled(endpoint)
    assert (description["EndpointStatus"], description["EndpointConfigName"]) == ("InService", new)
    assert description["LastDeploymentConfig"]["AutoRollbackConfiguration"]["Alarms"] == [{"AlarmName": alarm}]


def test_an_alarm_that_does_not_exist_is_refused_by_name(hosting: Hosting) -> None:
    endpoint = hosting.deploy()

    with pytest.raises(ClientError, match="do not exist: no-such-alarm"):
        update(hosting, endpoint, endpoint, blue_green("ALL_AT_ONCE", "no-such-alarm"))


@pytest.mark.parametrize(
    "deployment",
    [blue_green("CANARY", CanarySize=50), blue_green("LINEAR", LinearStepSize=10), rolling(5), rolling(50)],
)
def test_shares_of_the_capacity_in_range_pass(deployment: dict[str, Any]) -> None:
    rules.check_deployment(deployment)


@pytest.mark.parametrize(
    "deployment",
    [blue_green("CANARY", CanarySize=51), blue_green("LINEAR", LinearStepSize=9), rolling(4), rolling(51)],
)
def test_shares_of_the_capacity_out_of_range_are_refused(deployment: dict[str, Any]) -> None:
    with pytest.raises(ApiError, match="percent of the capacity"):
        rules.check_deployment(deployment)


def test_baking_is_cut_short_to_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_CLOUD_BAKE_SECONDS", "5")

    assert Watch.of(blue_green("CANARY", "a", wait=600, CanarySize=10)).seconds == 5
    assert Watch.of(blue_green("CANARY", "a", wait=2, CanarySize=10)).seconds == 2
    assert Watch.of(blue_green("CANARY", wait=600, CanarySize=10)).seconds == 0


@pytest.mark.parametrize("text", ["soon", "-1", "inf"])
def test_a_cap_that_is_no_time_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LOCAL_CLOUD_BAKE_SECONDS", text)

    with pytest.raises(ValueError, match="LOCAL_CLOUD_BAKE_SECONDS"):
        bake_cap()
