"""A deploy to the local cloud fares as on AWS: what is misspelt, refused or dead fails it, and an event says why."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tests.support.aws_clients import ClientFactory
from tests.support.stacks import FUNCTION_ROLE, Stacks, answering, custom_resource, function


@pytest.mark.parametrize(
    ("resource", "reason"),
    [
        ({"Type": "AWS::S3::Bucket", "Properties": {"BuketName": "x"}}, "[BuketName] is not permitted, did you mean"),
        (
            {"Type": "AWS::S3::Bucket", "Properties": {"VersioningConfiguration": {"Statuss": "Enabled"}}},
            "#/VersioningConfiguration: extraneous key [Statuss] is not permitted, did you mean Status?",
        ),
        ({"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionDays": 7}}, "extraneous key [RetentionDays]"),
        (
            {
                "Type": "AWS::IAM::Role",
                "Properties": {"AssumeRolePolicyDocument": {"Statement": []}, "ManagedPolicies": []},
            },
            "extraneous key [ManagedPolicies] is not permitted, did you mean ManagedPolicyArns?",
        ),
        (
            {
                "Type": "AWS::CodeBuild::Project",
                "Properties": {
                    "Artifacts": {"Type": "NO_ARTIFACTS"},
                    "Environment": {"Type": "LINUX_CONTAINER", "Image": "x", "ComputType": "x"},
                    "ServiceRole": "r",
                    "Source": {"Type": "NO_SOURCE"},
                },
            },
            "#/Environment: extraneous key [ComputType] is not permitted, did you mean ComputeType?",
        ),
    ],
)
def test_a_misspelt_property_fails_the_stack_by_name(stacks: Stacks, resource: dict[str, Any], reason: str) -> None:
    stack = stacks.create({"Resource": resource})

    assert stacks.status(stack) == "ROLLBACK_COMPLETE"
    assert reason in stacks.failure(stack)


def test_a_misspelt_property_in_an_update_rolls_it_back(stacks: Stacks) -> None:
    stack = stacks.create({"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": 7}}})

    stacks.update(stack, {"Group": {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDay": 14}}})

    assert stacks.status(stack) == "UPDATE_ROLLBACK_COMPLETE"
    assert "[RetentionInDay]" in stacks.failure(stack)


def test_bucket_encryption_of_a_template_is_applied(stacks: Stacks, client: ClientFactory) -> None:
    rule = {
        "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "k"},
        "BucketKeyEnabled": True,
    }
    encryption = {"ServerSideEncryptionConfiguration": [rule]}

    stack = stacks.create({"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {"BucketEncryption": encryption}}})

    kept = client("s3").get_bucket_encryption(Bucket=stacks.resource(stack, "Bucket"))
    assert kept["ServerSideEncryptionConfiguration"]["Rules"] == [
        {
            "ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": "k"},
            "BucketKeyEnabled": True,
        }
    ]


def test_a_custom_resource_whose_lambda_answers_is_made(stacks: Stacks) -> None:
    stack = stacks.create({"Function": function(answering()), "Custom": custom_resource(Any="thing")})

    assert stacks.status(stack) == "CREATE_COMPLETE"
    assert stacks.resource(stack, "Custom") == "made"
    stacks.delete(stack)


def test_no_two_events_have_the_same_time(stacks: Stacks, client: ClientFactory) -> None:
    group = {"Type": "AWS::Logs::LogGroup"}
    stack = stacks.create({"A": group, "B": group, "C": group})

    events = client("cloudformation").describe_stack_events(StackName=stack)["StackEvents"]
    times = [event["Timestamp"] for event in events]
    assert sorted(set(times), reverse=True) == times


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (
            "def handler(event, context): raise RuntimeError('no disk')",
            "ended without an answer: Runtime.HandlerError: no disk",
        ),
        ("import absent", "absent"),
        ("import os\ndef handler(event, context): os._exit(3)", "ended without an answer"),
    ],
)
def test_a_lambda_that_dies_fails_its_custom_resource_at_once(stacks: Stacks, code: str, reason: str) -> None:
    started = time.monotonic()

    stack = stacks.create({"Function": function(code), "Custom": custom_resource()})

    assert time.monotonic() - started < 30
    assert stacks.status(stack) == "ROLLBACK_COMPLETE"
    assert reason in stacks.failure(stack)


def test_an_answer_before_the_death_counts(stacks: Stacks) -> None:
    stack = stacks.create(
        {"Function": function(answering() + "    raise RuntimeError('after')\n"), "Custom": custom_resource()}
    )

    assert stacks.status(stack) == "CREATE_COMPLETE"
    stacks.delete(stack)


def test_a_lambda_cannot_import_the_packages_of_this_checkout(stacks: Stacks) -> None:
    stack = stacks.create({"Function": function("import decision_provenance"), "Custom": custom_resource()})

    assert "decision_provenance" in stacks.failure(stack)


def test_a_lambda_reaches_the_local_cloud_with_boto3(stacks: Stacks, client: ClientFactory) -> None:
    client("s3").create_bucket(Bucket="from-lambda")
    put = "import boto3; boto3.client('s3').put_object(Bucket='from-lambda', Key='k', Body=b'x')"

    stack = stacks.create({"Function": function(answering(put)), "Custom": custom_resource()})

    assert stacks.status(stack) == "CREATE_COMPLETE"
    assert client("s3").get_object(Bucket="from-lambda", Key="k")["Body"].read() == b"x"
    stacks.delete(stack)


def test_a_node_lambda_runs(stacks: Stacks, client: ClientFactory) -> None:
    node = function("exports.handler = async (event) => ({answer: event.question + 1});")
    node["Properties"]["Runtime"] = "nodejs22.x"

    stack = stacks.create({"Function": node})

    answer = client("lambda").invoke(FunctionName=stacks.resource(stack, "Function"), Payload=b'{"question": 41}')
    assert json.loads(answer["Payload"].read()) == {"answer": 42}
    stacks.delete(stack)


def test_a_project_of_a_template_builds_and_logs_where_it_says(stacks: Stacks, client: ClientFactory) -> None:
    stack = stacks.create(
        {
            "Project": {
                "Type": "AWS::CodeBuild::Project",
                "Properties": {
                    "Artifacts": {"Type": "NO_ARTIFACTS"},
                    "Environment": {
                        "Type": "LINUX_CONTAINER",
                        "Image": "x",
                        "ComputeType": "BUILD_GENERAL1_SMALL",
                        "PrivilegedMode": "false",
                        "EnvironmentVariables": [{"Name": "A", "Value": "1", "Type": "PLAINTEXT"}],
                    },
                    "ServiceRole": FUNCTION_ROLE,
                    "Source": {"Type": "NO_SOURCE", "BuildSpec": '{"version": "0.2", "phases": {"build": {}}}'},
                    "LogsConfig": {"CloudWatchLogs": {"Status": "ENABLED", "GroupName": "/of/template"}},
                    "TimeoutInMinutes": "5",
                    "Cache": {"Type": "NO_CACHE"},
                    "EncryptionKey": "alias/aws/s3",
                },
            }
        }
    )

    build = client("codebuild").start_build(projectName=stacks.resource(stack, "Project"))["build"]

    assert build["logs"]["groupName"] == "/of/template"
    assert build["timeoutInMinutes"] == 5
    stacks.delete(stack)


def test_a_project_that_is_not_emulated_fails_the_stack(stacks: Stacks) -> None:
    stack = stacks.create(
        {
            "Project": {
                "Type": "AWS::CodeBuild::Project",
                "Properties": {
                    "Artifacts": {"Type": "NO_ARTIFACTS"},
                    "Environment": {"Type": "LINUX_CONTAINER", "Image": "x", "ComputeType": "BUILD_GENERAL1_SMALL"},
                    "ServiceRole": FUNCTION_ROLE,
                    "Source": {"Type": "GITHUB", "Location": "https://github.com/x/y"},
                },
            }
        }
    )

    assert "does not emulate source.type GITHUB" in stacks.failure(stack)
