"""The endpoint's log group is there first, whoever made it, and goes only with what nobody keeps."""

from __future__ import annotations

import pytest
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk.assertions import Match, Template

from decision_endpoints import EndpointLogs
from decision_endpoints.retention import retention_days
from tests.support.synth import new_stack, resources

OWN_ARN = "arn:aws:logs:us-east-1:123456789012:log-group:/aws/sagemaker/Endpoints/decisions-test"
GROUP = "Custom::EndpointLogGroup"


@pytest.fixture(scope="module")
def template() -> Template:
    stack = new_stack()
    EndpointLogs(stack, "Logs", endpoint_name="decisions-test")
    EndpointLogs(
        stack,
        "Brief",
        endpoint_name="brief",
        retain=False,
        retention=logs.RetentionDays.ONE_WEEK,
        encryption_key=kms.Key(stack, "LogKey"),
    )
    return Template.from_stack(stack)


def test_a_group_that_exists_is_no_obstacle_as_no_resource_of_cloudformations_own_makes_it(template: Template) -> None:
    names = [group["Properties"].get("LogGroupName") for group in resources(template, "AWS::Logs::LogGroup")]
    assert names == [None]  # the function's own
    template.has_resource_properties(
        GROUP, {"LogGroupName": "/aws/sagemaker/Endpoints/decisions-test", "RetentionDays": "90", "KeyArn": ""}
    )


def test_the_group_survives_all_but_a_failed_first_create(template: Template) -> None:
    template.has_resource(
        GROUP,
        {
            "Properties": {"LogGroupName": "/aws/sagemaker/Endpoints/decisions-test", "Retain": "true"},
            "DeletionPolicy": "RetainExceptOnCreate",
            "UpdateReplacePolicy": "Retain",
        },
    )


def test_a_group_that_is_not_retained_goes_with_its_stack(template: Template) -> None:
    template.has_resource(
        GROUP,
        {
            "Properties": {
                "LogGroupName": "/aws/sagemaker/Endpoints/brief",
                "RetentionDays": "7",
                "Retain": "false",
            },
            "DeletionPolicy": "Delete",
            "UpdateReplacePolicy": "Delete",
        },
    )


def test_the_function_manages_these_groups_alone_and_reads_no_line(template: Template) -> None:
    (policy,) = resources(template, "AWS::IAM::Policy")
    statements = policy["Properties"]["PolicyDocument"]["Statement"]

    actions = {
        action for s in statements for action in ([s["Action"]] if isinstance(s["Action"], str) else s["Action"])
    }
    assert not {"logs:GetLogEvents", "logs:FilterLogEvents"} & actions
    (deleting,) = [s["Resource"] for s in statements if "logs:DeleteLogGroup" in s["Action"]]
    (tagging,) = [s["Resource"] for s in statements if "logs:TagResource" in s["Action"]]
    own = [OWN_ARN.replace("decisions-test", "brief"), OWN_ARN]
    assert (deleting, tagging) == ([f"{arn}:*" for arn in own], own)
    wider = [s["Action"] for s in statements if str(s["Resource"]).endswith("log-group:*")]
    assert wider == ["logs:DescribeLogGroups"]


def test_two_groups_of_a_stack_share_the_function(template: Template) -> None:
    template.resource_count_is("AWS::Lambda::Function", 1)


def test_a_key_admits_cloudwatch_logs_for_this_group_alone(template: Template) -> None:
    template.has_resource_properties(
        "AWS::KMS::Key",
        {
            "KeyPolicy": {
                "Statement": Match.array_with(
                    [
                        Match.object_like(
                            {
                                "Principal": {"Service": "logs.us-east-1.amazonaws.com"},
                                "Condition": {
                                    "ArnEquals": {
                                        "kms:EncryptionContext:aws:logs:arn": OWN_ARN.replace("decisions-test", "brief")
                                    }
                                },
                            }
                        )
                    ]
                )
            }
        },
    )


def test_what_is_made_after_it_needs_no_export_of_its_stack() -> None:
    endpoint_logs = EndpointLogs(new_stack(), "Logs", endpoint_name="decisions-test")

    assert endpoint_logs.log_group.log_group_name == "/aws/sagemaker/Endpoints/decisions-test"


def test_every_retention_is_as_many_days_as_the_cdk_says() -> None:
    stack = new_stack()
    for each in logs.RetentionDays:
        logs.LogGroup(stack, each.name, retention=each)
    groups = Template.from_stack(stack).find_resources("AWS::Logs::LogGroup")

    theirs = {name[:-8]: group.get("Properties", {}).get("RetentionInDays") for name, group in groups.items()}
    assert theirs == {each.name.replace("_", ""): retention_days(each) for each in logs.RetentionDays}
