"""Lines become metrics, metrics move alarms: as far as it takes to try alarms at home."""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.aws_clients import ClientFactory
from tests.support.stacks import Stacks

COUNTED = {"metricNamespace": "Home", "metricValue": "1", "defaultValue": 0.0}


@dataclass(frozen=True)
class Logged:
    """A log group with a stream, and the metrics of its filters."""

    client: ClientFactory
    name: str

    def filter(self, metric: str, pattern: str, **transformation: Any) -> None:
        self.client("logs").put_metric_filter(
            logGroupName=self.name,
            filterName=metric,
            filterPattern=pattern,
            metricTransformations=[{"metricName": self.metric(metric), **transformation}],
        )

    def write(self, *lines: str) -> None:
        now = int(time.time() * 1000)
        events = [{"timestamp": now, "message": line} for line in lines]
        self.client("logs").put_log_events(logGroupName=self.name, logStreamName="s", logEvents=events)

    def metric(self, name: str) -> str:
        return f"{self.name}/{name}"

    def statistic(self, name: str, statistic: str, **dimensions: str) -> list[float]:
        now = datetime.now(UTC)
        answer = self.client("cloudwatch").get_metric_statistics(
            Namespace="Home",
            MetricName=self.metric(name),
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
            StartTime=now - timedelta(minutes=10),
            EndTime=now + timedelta(minutes=1),
            Period=86400,
            Statistics=[statistic],
        )
        return [point[statistic] for point in answer["Datapoints"]]


@pytest.fixture
def logged(client: ClientFactory) -> Logged:
    name = f"group-{uuid.uuid4().hex[:8]}"
    client("logs").create_log_group(logGroupName=name)
    client("logs").create_log_stream(logGroupName=name, logStreamName="s")
    return Logged(client, name)


def test_matching_lines_are_counted(logged: Logged) -> None:
    logged.filter("Busy", "{ $.status = 503 }", **COUNTED)

    logged.write('{"status": 503}', '{"status": 200}', '{"status": 503}')

    assert logged.statistic("Busy", "Sum") == [2.0]


def test_a_minute_of_other_lines_gets_the_default_value(logged: Logged) -> None:
    logged.filter("Busy", "{ $.status = 503 }", **COUNTED)

    logged.write('{"status": 200}')

    assert logged.statistic("Busy", "Maximum") == [0.0]


def test_a_number_of_the_line_is_measured_where_there_is_one(logged: Logged) -> None:
    logged.filter("Queue", '{ $.event = "request" }', metricNamespace="Home", metricValue="$.queue_ms")

    logged.write('{"event": "request", "queue_ms": 12.5}', '{"event": "request"}')

    assert logged.statistic("Queue", "Average") == [12.5]


def test_a_field_of_the_line_can_be_a_dimension(logged: Logged) -> None:
    logged.filter("By", "{ $.ms > 0 }", metricNamespace="Home", metricValue="$.ms", dimensions={"model": "$.model"})

    logged.write('{"ms": 1, "model": "a"}', '{"ms": 2, "model": "b"}')

    assert logged.statistic("By", "Sum", model="b") == [2.0]


def alarm_on(logged: Logged, name: str, **more: Any) -> None:
    logged.client("cloudwatch").put_metric_alarm(
        AlarmName=logged.name,
        Namespace="Home",
        MetricName=logged.metric(name),
        Period=86400,
        EvaluationPeriods=1,
        **{
            "Statistic": "Sum",
            "Threshold": 2,
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "TreatMissingData": "notBreaching",
            **more,
        },
    )


def state(logged: Logged) -> str:
    (alarm,) = logged.client("cloudwatch").describe_alarms(AlarmNames=[logged.name])["MetricAlarms"]
    return str(alarm["StateValue"])


def test_an_alarm_on_counted_lines_goes_off(logged: Logged) -> None:
    logged.filter("Busy", "{ $.status = 503 }", **COUNTED)
    alarm_on(logged, "Busy")
    logged.write('{"status": 503}')
    before = state(logged)

    logged.write('{"status": 503}')

    assert (before, state(logged)) == ("OK", "ALARM")


def test_an_alarm_looks_at_its_own_dimensions_only(logged: Logged) -> None:
    dimensions = {"model": "$.model"}
    logged.filter("By", "{ $.ms > 0 }", metricNamespace="Home", metricValue="$.ms", dimensions=dimensions)
    alarm_on(logged, "By", Dimensions=[{"Name": "model", "Value": "a"}])

    logged.write('{"ms": 1, "model": "a"}', '{"ms": 9, "model": "b"}')

    assert state(logged) == "OK"


def test_an_alarm_whose_metric_never_had_a_point_keeps_the_state_it_is_given(logged: Logged) -> None:
    alarm_on(logged, "Never")

    logged.client("cloudwatch").set_alarm_state(AlarmName=logged.name, StateValue="ALARM", StateReason="a test")

    assert state(logged) == "ALARM"


def test_an_alarm_with_metric_math_goes_off(logged: Logged, stacks: Stacks) -> None:
    logged.filter("Busy", "{ $.status = 503 }", **COUNTED)
    logged.filter("All", "{ $.status > 0 }", **COUNTED)
    stacks.create({"Alarm": rate_alarm(logged)})
    logged.write('{"status": 200}', '{"status": 200}')
    before = state(logged)

    logged.write('{"status": 503}')

    assert (before, state(logged)) == ("OK", "ALARM")


def rate_alarm(logged: Logged) -> dict[str, Any]:
    def sum_of(name: str) -> dict[str, Any]:
        metric = {"Namespace": "Home", "MetricName": logged.metric(name)}
        stat = {"Metric": metric, "Period": 86400, "Stat": "Sum"}
        return {"Id": name.lower(), "MetricStat": stat, "ReturnData": False}

    return {
        "Type": "AWS::CloudWatch::Alarm",
        "Properties": {
            "AlarmName": logged.name,
            "Metrics": [
                {"Id": "rate", "Expression": "IF(all > 0, 100 * busy / all, 0)"},
                sum_of("Busy"),
                sum_of("All"),
            ],
            "EvaluationPeriods": 1,
            "Threshold": 30,
            "ComparisonOperator": "GreaterThanThreshold",
            "TreatMissingData": "notBreaching",
        },
    }


def test_a_percentile_of_too_few_samples_moves_no_alarm_that_ignores_it(logged: Logged, stacks: Stacks) -> None:
    logged.filter("Tail", "{ $.ms > 0 }", metricNamespace="Home", metricValue="$.ms")
    tail = {
        "AlarmName": logged.name,
        "Namespace": "Home",
        "MetricName": logged.metric("Tail"),
        "ExtendedStatistic": "p95",
        "EvaluateLowSampleCountPercentile": "ignore",
        "Period": 86400,
        "EvaluationPeriods": 1,
        "Threshold": 1,
        "ComparisonOperator": "GreaterThanThreshold",
    }
    stacks.create({"Alarm": {"Type": "AWS::CloudWatch::Alarm", "Properties": tail}})
    logged.write(*['{"ms": 5}'] * 199)
    before = state(logged)

    logged.write('{"ms": 5}')

    assert (before, state(logged)) == ("INSUFFICIENT_DATA", "ALARM")
