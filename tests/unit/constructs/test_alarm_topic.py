"""An alarm that nobody hears is none: the topic and its key admit CloudWatch, and only this account's."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk.assertions import Template

from decision_endpoints import AlarmTopic, InvalidArguments
from tests.support.synth import ACCOUNT, new_stack, resources


@pytest.fixture(scope="module")
def template() -> Template:
    stack = new_stack()
    AlarmTopic(stack, "AlarmTopic", emails=["on-call@example.com"])
    return Template.from_stack(stack)


def _of_cloudwatch(statements: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = [s for s in statements if s["Principal"] == {"Service": "cloudwatch.amazonaws.com"}]
    return found


def test_the_topics_own_key_admits_the_alarms_of_this_account(template: Template) -> None:
    (key,) = resources(template, "AWS::KMS::Key")
    (name,) = template.find_resources("AWS::KMS::Key")

    admitted = _of_cloudwatch(key["Properties"]["KeyPolicy"]["Statement"])
    assert admitted["Action"] == ["kms:Decrypt", "kms:GenerateDataKey*"]
    assert admitted["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}
    assert key["Properties"]["EnableKeyRotation"] is True
    template.has_resource_properties("AWS::SNS::Topic", {"KmsMasterKeyId": {"Fn::GetAtt": [name, "Arn"]}})


def test_the_topics_policy_admits_them_too_and_refuses_plain_http(template: Template) -> None:
    (policy,) = resources(template, "AWS::SNS::TopicPolicy")
    statements = policy["Properties"]["PolicyDocument"]["Statement"]

    admitted = _of_cloudwatch(statements)
    assert admitted["Action"] == "sns:Publish"
    assert admitted["Condition"] == {"StringEquals": {"aws:SourceAccount": ACCOUNT}}
    (refused,) = [s for s in statements if s["Effect"] == "Deny"]
    assert refused["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}


def test_topic_and_key_keep_nothing_and_go_with_the_stack(template: Template) -> None:
    (key,) = resources(template, "AWS::KMS::Key")
    assert key["DeletionPolicy"] == "Delete"


def test_an_address_is_subscribed(template: Template) -> None:
    template.has_resource_properties("AWS::SNS::Subscription", {"Protocol": "email", "Endpoint": "on-call@example.com"})


def test_all_wrong_addresses_are_named_at_once() -> None:
    with pytest.raises(InvalidArguments) as refused:
        AlarmTopic(new_stack(), "AlarmTopic", emails=["on-call", "a@example.com", "a@example.com"])

    assert [complaint.split(":")[0] for complaint in refused.value.complaints] == [
        "'on-call' is no e-mail address",
        "'a@example.com' is there 2 times",
    ]
