"""Which alarm looks at what, and from when on it goes off."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import pytest
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk.assertions import Template

from decision_endpoints import (
    AlarmThresholds,
    AlarmTopic,
    CpuInstance,
    EndpointAlarms,
    GpuPool,
    InvalidArguments,
    Rollout,
    Scaling,
)
from tests.support.synth import chat_endpoint, endpoint, new_stack, resources, source

NOTHING: dict[str, Any] = {each.name: None for each in fields(AlarmThresholds) if each.name != "slot_mass"}


@dataclass(frozen=True)
class Watched:
    """An endpoint's alarms, and the template that they are in."""

    alarms: EndpointAlarms
    template: Template

    def properties(self, name: str) -> dict[str, Any]:
        """Of one alarm, by its name."""
        found = self.template.find_resources("AWS::CloudWatch::Alarm")
        (resource,) = [
            r for r in found.values() if r["Properties"]["AlarmDescription"].split(": ")[0].endswith(f", {name}")
        ]
        return dict(resource["Properties"])

    def metrics(self, name: str) -> dict[str, dict[str, Any]]:
        """What an alarm on an expression is made of, by id; the expression itself is ``expr_1``."""
        return {each["Id"]: each for each in self.properties(name)["Metrics"]}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """Everything there is: a scaled pool, a topic, a rollout that watches, and the alarm that is off by default."""
    stack = new_stack()
    decisions = endpoint(
        stack,
        source(tmp_path_factory.mktemp("model")),
        compute=GpuPool(["ml.g6e.xlarge", "ml.g5.2xlarge", "ml.g6.2xlarge"]),
        scaling=Scaling(min=2, max=4),
        rollout=Rollout.canary(),
    )
    topic = AlarmTopic(stack, "AlarmTopic").topic
    thresholds = AlarmThresholds(no_traffic_minutes=60)
    alarms = EndpointAlarms(stack, "Alarms", endpoint=decisions, topic=topic, thresholds=thresholds)
    decisions.roll_back_on(*alarms.rollback_alarms)
    return Watched(alarms, Template.from_stack(stack))


@pytest.fixture(scope="module")
def watched_chat(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    stack = new_stack()
    alarms = EndpointAlarms(stack, "Alarms", endpoint=chat_endpoint(stack, source(tmp_path_factory.mktemp("model"))))
    return Watched(alarms, Template.from_stack(stack))


def test_a_scaled_pool_has_every_alarm(watched: Watched) -> None:
    assert set(watched.alarms.alarms) == {
        "busy", "other-5xx", "latency-p50", "latency-p95", "latency-p99", "queue-p95", "load-failure",
        "offload-incomplete", "low-slot-mass", "placement", "at-maximum", "no-traffic",
    }  # fmt: skip


def test_the_busy_rate_is_of_the_adapters_own_counts_and_0_without_traffic(watched: Watched) -> None:
    metrics = watched.metrics("busy")

    assert metrics["expr_1"]["Expression"] == "IF(all > 0, 100 * busy / all, 0)"
    assert metrics["all"]["Expression"] == "SUM([answered, busy, failed, refused])"
    counted = {metrics[name]["MetricStat"]["Metric"]["Namespace"] for name in ("answered", "busy", "failed", "refused")}
    assert counted == {"DecisionEndpoints"}


def test_a_busy_503_is_no_other_5xx(watched: Watched) -> None:
    metrics = watched.metrics("other-5xx")

    assert metrics["errors"]["Expression"] == "SUM([every, minus])"
    assert metrics["minus"]["Expression"] == "-1 * busy"
    assert metrics["every"]["MetricStat"]["Metric"]["MetricName"] == "Invocation5XXErrors"


@pytest.mark.parametrize(("name", "seconds"), [("p50", 10), ("p95", 30), ("p99", 45)])
def test_latency_is_in_microseconds_and_needs_enough_samples(watched: Watched, name: str, seconds: int) -> None:
    alarm = watched.properties(f"latency-{name}")

    assert (alarm["MetricName"], alarm["ExtendedStatistic"]) == ("ModelLatency", name)
    assert alarm["Threshold"] == seconds * 1_000_000
    assert alarm["EvaluateLowSampleCountPercentile"] == "ignore"


def test_queue_time_is_in_milliseconds_and_needs_enough_samples(watched: Watched) -> None:
    alarm = watched.properties("queue-p95")

    assert (alarm["MetricName"], alarm["ExtendedStatistic"]) == ("decisions-test/QueueMilliseconds", "p95")
    assert alarm["Threshold"] == 20_000
    assert alarm["EvaluateLowSampleCountPercentile"] == "ignore"


def test_placement_looks_at_every_type_but_the_first(watched: Watched) -> None:
    measured = [each["MetricStat"] for each in watched.metrics("placement").values() if "MetricStat" in each]

    types = [
        dimension["Value"]
        for each in measured
        for dimension in each["Metric"]["Dimensions"]
        if dimension["Name"] == "InstanceType"
    ]
    assert types == ["ml.g5.2xlarge", "ml.g6.2xlarge"]
    assert {(each["Metric"]["MetricName"], each["Stat"]) for each in measured} == {("CPUUtilization", "SampleCount")}


def test_at_maximum_is_the_scalings_maximum(watched: Watched) -> None:
    assert watched.properties("at-maximum")["Threshold"] == 4


def test_no_traffic_is_told_by_what_is_missing(watched: Watched) -> None:
    alarm = watched.properties("no-traffic")

    assert (alarm["TreatMissingData"], alarm["EvaluationPeriods"], alarm["Period"]) == ("breaching", 12, 300)


def test_a_quiet_endpoint_raises_no_other_alarm(watched: Watched) -> None:
    missing = {name: watched.properties(name)["TreatMissingData"] for name in watched.alarms.alarms}

    assert set({**missing, "no-traffic": "notBreaching"}.values()) == {"notBreaching"}


def test_the_topic_is_told_of_the_beginning_and_the_end(watched: Watched) -> None:
    (topic,) = watched.template.find_resources("AWS::SNS::Topic")

    for alarm in resources(watched.template, "AWS::CloudWatch::Alarm"):
        assert alarm["Properties"]["AlarmActions"] == alarm["Properties"]["OKActions"] == [{"Ref": topic}]


def test_no_filter_has_both_dimensions_and_a_default_value_which_cloudwatch_refuses(watched: Watched) -> None:
    filters = [
        f["Properties"]["MetricTransformations"][0] for f in resources(watched.template, "AWS::Logs::MetricFilter")
    ]

    assert len(filters) == 7
    assert not [each for each in filters if "Dimensions" in each and "DefaultValue" in each]
    assert all(each["MetricName"].startswith("decisions-test/") for each in filters)


def test_a_filter_comes_after_the_group_that_it_only_names(watched: Watched) -> None:
    (group,) = watched.template.find_resources("Custom::EndpointLogGroup")

    assert all(group in f["DependsOn"] for f in resources(watched.template, "AWS::Logs::MetricFilter"))


def test_an_update_is_taken_back_for_what_it_may_have_caused_and_never_for_being_busy(watched: Watched) -> None:
    alarms = watched.template.find_resources("AWS::CloudWatch::Alarm")
    (deployed,) = resources(watched.template, "AWS::SageMaker::Endpoint")
    watching = deployed["Properties"]["DeploymentConfig"]["AutoRollbackConfiguration"]["Alarms"]

    described = [alarms[each["AlarmName"]["Ref"]]["Properties"]["AlarmDescription"] for each in watching]
    assert [text.split(":")[0].removeprefix("decisions-test, ") for text in described] == [
        "other-5xx", "load-failure", "offload-incomplete", "latency-p99",
    ]  # fmt: skip


def test_an_alarm_depends_on_nothing_of_the_endpoint_since_its_rollout_depends_on_the_alarm(watched: Watched) -> None:
    of_the_endpoint = {
        name
        for name in watched.template.to_json()["Resources"]
        if name.startswith("Endpoint") and "LogGroup" not in name
    }

    text = str(
        resources(watched.template, "AWS::CloudWatch::Alarm") + resources(watched.template, "AWS::Logs::MetricFilter")
    )
    assert of_the_endpoint
    assert not [name for name in of_the_endpoint if name in text]


def test_a_chat_endpoint_has_the_alarms_that_need_no_line_of_the_adapters(watched_chat: Watched) -> None:
    assert set(watched_chat.alarms.alarms) == {"other-5xx", "latency-p50", "latency-p95", "latency-p99"}
    assert watched_chat.metrics("other-5xx")["errors"]["MetricStat"]["Metric"]["MetricName"] == "Invocation5XXErrors"
    watched_chat.template.resource_count_is("AWS::Logs::MetricFilter", 0)


def test_none_turns_an_alarm_off(tmp_path_factory: pytest.TempPathFactory) -> None:
    stack = new_stack()
    decisions = endpoint(stack, source(tmp_path_factory.mktemp("model")), compute=CpuInstance("ml.c6i.xlarge"))

    alarms = EndpointAlarms(stack, "Alarms", endpoint=decisions, thresholds=AlarmThresholds(**NOTHING))

    assert (alarms.alarms, alarms.rollback_alarms) == ({}, [])


def test_every_alarm_says_what_to_do(watched: Watched) -> None:
    for name, alarm in watched.alarms.alarms.items():
        assert isinstance(alarm, cloudwatch.Alarm)
        assert len(watched.properties(name)["AlarmDescription"]) > 60


def test_all_thresholds_out_of_range_are_named_at_once() -> None:
    with pytest.raises(InvalidArguments) as refused:
        AlarmThresholds(
            busy_percent=0,
            other_5xx_percent=101,
            latency_p99_seconds=61,
            load_failures=0,
            slot_mass=0.6,
            at_maximum_minutes=7,
        )

    assert [complaint.split()[0] for complaint in refused.value.complaints] == [
        "busy_percent", "other_5xx_percent", "latency_p99_seconds", "slot_mass", "load_failures", "at_maximum_minutes",
    ]  # fmt: skip
