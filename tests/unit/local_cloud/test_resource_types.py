"""The other types of our templates: made, changed and gone, with the references and attributes that templates use."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.aws_clients import ClientFactory
from tests.support.stacks import Stacks

Resources = dict[str, Any]


def resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


KEY_POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
            "Action": "kms:*",
            "Resource": "*",
        }
    ],
}


def key(**more: Any) -> dict[str, Any]:
    return resource("AWS::KMS::Key", KeyPolicy=KEY_POLICY, **more)


def attribute(name: str, of: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [name, of]}


@dataclass(frozen=True)
class Life:
    """Resources as they are created, as they are after an update, and outputs with what they are to say."""

    created: Resources
    updated: Resources
    outputs: dict[str, tuple[Any, str]] = field(default_factory=dict)


REPOSITORY = Life(
    {
        "Repository": resource(
            "AWS::ECR::Repository",
            RepositoryName="images",
            ImageTagMutability="IMMUTABLE",
            ImageScanningConfiguration={"ScanOnPush": True},
            EncryptionConfiguration={"EncryptionType": "KMS"},
            EmptyOnDelete=True,
        )
    },
    {
        "Repository": resource(
            "AWS::ECR::Repository",
            RepositoryName="images",
            ImageTagMutability="IMMUTABLE",
            ImageScanningConfiguration={"ScanOnPush": True},
            EncryptionConfiguration={"EncryptionType": "KMS"},
            EmptyOnDelete=True,
            LifecyclePolicy={"LifecyclePolicyText": '{"rules": []}'},
        )
    },
    {
        "Ref": ({"Ref": "Repository"}, "images"),
        "Uri": (attribute("Repository", "RepositoryUri"), "123456789012.dkr.ecr.us-east-1.amazonaws.com/images"),
        "Arn": (attribute("Repository", "Arn"), "arn:aws:ecr:us-east-1:123456789012:repository/images"),
    },
)


def topic(email: str) -> Resources:
    return {
        "Key": key(EnableKeyRotation=True, PendingWindowInDays=7),
        "Alias": resource("AWS::KMS::Alias", AliasName="alias/alarms", TargetKeyId=attribute("Key", "Arn")),
        "Topic": resource("AWS::SNS::Topic", TopicName="alarms", KmsMasterKeyId=attribute("Key", "Arn")),
        "Policy": resource(
            "AWS::SNS::TopicPolicy",
            Topics=[{"Ref": "Topic"}],
            PolicyDocument={
                "Version": "2012-10-17",
                "Statement": [
                    {
                        "Sid": "Alarms",
                        "Effect": "Allow",
                        "Principal": {"Service": "cloudwatch.amazonaws.com"},
                        "Action": "sns:Publish",
                        "Resource": {"Ref": "Topic"},
                    }
                ],
            },
        ),
        "Subscription": resource("AWS::SNS::Subscription", TopicArn={"Ref": "Topic"}, Protocol="email", Endpoint=email),
    }


TOPIC = Life(
    topic("one@example.com"),
    topic("two@example.com"),
    {"Ref": ({"Ref": "Topic"}, "arn:aws:sns:us-east-1:123456789012:alarms")},
)


def logs(days: int, status: int) -> Resources:
    return {
        "Key": key(),
        "Group": resource(
            "AWS::Logs::LogGroup",
            LogGroupName="/of/types",
            RetentionInDays=days,
            KmsKeyId=attribute("Key", "Arn"),
        ),
        "Filter": resource(
            "AWS::Logs::MetricFilter",
            LogGroupName={"Ref": "Group"},
            FilterPattern=f"{{ $.status = {status} }}",
            MetricTransformations=[
                {"MetricName": "Busy", "MetricNamespace": "Types", "MetricValue": "1", "DefaultValue": 0}
            ],
        ),
    }


LOGS = Life(logs(30, 503), logs(60, 500), {"Ref": ({"Ref": "Group"}, "/of/types")})


def alarm(name: str = "tail", **properties: Any) -> dict[str, Any]:
    return resource(
        "AWS::CloudWatch::Alarm",
        AlarmName=name,
        EvaluationPeriods=5,
        DatapointsToAlarm=3,
        Threshold=2,
        ComparisonOperator="GreaterThanThreshold",
        TreatMissingData="notBreaching",
        **properties,
    )


def rate(expression: str = "IF(all > 0, 100 * busy / all, 0)") -> list[dict[str, Any]]:
    def sum_of(name: str) -> dict[str, Any]:
        stat = {"Metric": {"Namespace": "Types", "MetricName": name}, "Period": 60, "Stat": "Sum"}
        return {"Id": name, "MetricStat": stat, "ReturnData": False}

    return [{"Id": "rate", "Expression": expression, "Label": "busy, %"}, sum_of("busy"), sum_of("all")]


ALARM = Life(
    {
        "Alarm": alarm(
            Namespace="AWS/SageMaker",
            MetricName="ModelLatency",
            ExtendedStatistic="p95",
            EvaluateLowSampleCountPercentile="ignore",
            Period=60,
            Dimensions=[{"Name": "EndpointName", "Value": "e"}],
        )
    },
    {"Alarm": alarm(Metrics=rate())},
    {
        "Ref": ({"Ref": "Alarm"}, "tail"),
        "Arn": (attribute("Alarm", "Arn"), "arn:aws:cloudwatch:us-east-1:123456789012:alarm:tail"),
    },
)
DASHBOARD = Life(
    {"Board": resource("AWS::CloudWatch::Dashboard", DashboardName="types", DashboardBody='{"widgets": []}')},
    {"Board": resource("AWS::CloudWatch::Dashboard", DashboardName="types", DashboardBody='{"start": "-PT1H"}')},
    {"Ref": ({"Ref": "Board"}, "types")},
)


@pytest.mark.parametrize(
    "life",
    [REPOSITORY, TOPIC, LOGS, ALARM, DASHBOARD],
    ids=["repository", "topic", "logs", "alarm", "dashboard"],
)
def test_a_type_is_made_changed_and_gone(stacks: Stacks, client: ClientFactory, life: Life) -> None:
    # Other tests share this cloud, and leave things of their own.
    before = everything(client)
    stack = stacks.create(life.created, outputs={name: {"Value": value} for name, (value, _) in life.outputs.items()})
    assert stacks.status(stack) == "CREATE_COMPLETE"
    assert everything(client) != before
    assert stacks.outputs(stack) == {name: says for name, (_, says) in life.outputs.items()}
    stacks.update(stack, life.updated)
    assert stacks.status(stack) == "UPDATE_COMPLETE"

    stacks.delete(stack)

    assert everything(client) == before


def everything(client: ClientFactory) -> list[str]:
    cloudwatch = client("cloudwatch")
    return [
        *(repository["repositoryName"] for repository in client("ecr").describe_repositories()["repositories"]),
        *(found["TopicArn"] for found in client("sns").list_topics()["Topics"]),
        *(found["SubscriptionArn"] for found in client("sns").list_subscriptions()["Subscriptions"]),
        *(found["AliasName"] for found in client("kms").list_aliases()["Aliases"]),
        *(
            found["logGroupName"]
            for found in client("logs").describe_log_groups(logGroupNamePrefix="/of/types")["logGroups"]
        ),
        *(found["AlarmName"] for found in cloudwatch.describe_alarms(AlarmNamePrefix="tail")["MetricAlarms"]),
        *(found["DashboardName"] for found in cloudwatch.list_dashboards()["DashboardEntries"]),
    ]


def test_an_alarm_with_metric_math_is_kept_as_the_template_has_it(stacks: Stacks, client: ClientFactory) -> None:
    stack = stacks.create({"Alarm": alarm("math", Metrics=rate())})

    (kept,) = client("cloudwatch").describe_alarms(AlarmNames=["math"])["MetricAlarms"]
    assert [query["Id"] for query in kept["Metrics"]] == ["rate", "busy", "all"]
    assert kept["Metrics"][0]["Expression"] == "IF(all > 0, 100 * busy / all, 0)"
    assert "MetricName" not in kept
    stacks.delete(stack)


@pytest.mark.parametrize(
    ("properties", "reason"),
    [
        ({"Metrics": rate("busy / al")}, "names al"),
        ({"Metrics": rate("busy /")}, "busy /"),
        ({"Metrics": rate(), "Statistic": "Sum"}, "exclude each other"),
        ({"Metrics": rate()[1:]}, "ReturnData"),
    ],
)
def test_metric_math_that_cloudwatch_refuses_fails_the_stack(
    stacks: Stacks, properties: dict[str, Any], reason: str
) -> None:
    stack = stacks.create({"Alarm": alarm("wrong", **properties)})

    assert reason in stacks.failure(stack)


def test_a_metric_filter_with_dimensions_and_a_default_value_fails_the_stack(stacks: Stacks) -> None:
    both = {
        "MetricName": "M",
        "MetricNamespace": "N",
        "MetricValue": "1",
        "DefaultValue": 0,
        "Dimensions": [{"Key": "a", "Value": "$.a"}],
    }
    stack = stacks.create(
        {
            "Group": resource("AWS::Logs::LogGroup"),
            "Filter": resource(
                "AWS::Logs::MetricFilter",
                LogGroupName={"Ref": "Group"},
                FilterPattern='{ $.event = "request" }',
                MetricTransformations=[both],
            ),
        }
    )

    assert "has dimensions and a default value" in stacks.failure(stack)
