"""What CloudFormation does when something goes wrong: whom it calls again, what it keeps, and how one gets on."""

from __future__ import annotations

import json
from typing import Any

from tests.support.aws_clients import ClientFactory
from tests.support.stacks import Stacks, custom_resource, function

# Names its physical resource after a property, and writes down every call it gets.
RECORDER = """
import boto3, json, urllib.request
def handler(event, context):
    release = event["ResourceProperties"]["Release"]
    gone = event["RequestType"] == "Delete"
    physical = event["PhysicalResourceId"] if gone else f"release-{release}"
    call = {"type": event["RequestType"], "id": event.get("PhysicalResourceId"), "release": release,
            "before": event.get("OldResourceProperties", {}).get("Release")}
    s3 = boto3.client("s3")
    count = len(s3.list_objects_v2(Bucket="BUCKET").get("Contents", []))
    s3.put_object(Bucket="BUCKET", Key=f"{count:03}", Body=json.dumps(call).encode())
    answer = {"Status": "SUCCESS", "PhysicalResourceId": physical, "StackId": event["StackId"],
              "RequestId": event["RequestId"], "LogicalResourceId": event["LogicalResourceId"]}
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), method="PUT"))
"""
REFUSED = {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": 3, "Misspelt": 1}}


def test_a_replaced_custom_resource_is_called_with_its_old_properties_when_the_update_rolls_back(
    stacks: Stacks, client: ClientFactory
) -> None:
    client("s3").create_bucket(Bucket="recorded-calls")
    recorder = function(RECORDER.replace("BUCKET", "recorded-calls"))
    stack = stacks.create({"Function": recorder, "Custom": custom_resource(Release="1")})

    stacks.update(
        stack,
        {"Function": recorder, "Custom": custom_resource(Release="2"), "Refused": {**REFUSED, "DependsOn": "Custom"}},
    )

    assert stacks.status(stack) == "UPDATE_ROLLBACK_COMPLETE"
    assert stacks.resource(stack, "Custom") == "release-1"
    assert calls(client, "recorded-calls") == [
        {"type": "Create", "id": None, "release": "1", "before": None},
        {"type": "Update", "id": "release-1", "release": "2", "before": "1"},
        {"type": "Update", "id": "release-2", "release": "1", "before": "2"},
        {"type": "Delete", "id": "release-2", "release": "2", "before": None},
    ]
    stacks.delete(stack)


def calls(client: ClientFactory, bucket: str) -> list[Any]:
    keys = [entry["Key"] for entry in client("s3").list_objects_v2(Bucket=bucket)["Contents"]]
    return [json.loads(client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()) for key in keys]


def group(name: str, policy: str) -> dict[str, Any]:
    return {"Type": "AWS::Logs::LogGroup", "DeletionPolicy": policy, "Properties": {"LogGroupName": name}}


def groups(client: ClientFactory, name: str) -> list[str]:
    found = client("logs").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    return [each["logGroupName"] for each in found]


def test_what_is_retained_except_on_create_goes_with_a_failed_create(stacks: Stacks, client: ClientFactory) -> None:
    stack = stacks.create(
        {
            "Group": group("/failed-create", "RetainExceptOnCreate"),
            "Kept": group("/failed-create-kept", "Retain"),
            "Refused": {**REFUSED, "DependsOn": ["Group", "Kept"]},
        }
    )

    assert stacks.status(stack) == "ROLLBACK_COMPLETE"
    assert groups(client, "/failed-create") == ["/failed-create-kept"]


def test_what_is_retained_except_on_create_outlives_its_stack(stacks: Stacks, client: ClientFactory) -> None:
    stack = stacks.create({"Group": group("/outlives", "RetainExceptOnCreate")})

    stacks.delete(stack)

    assert groups(client, "/outlives") == ["/outlives"]


def test_what_is_retained_on_update_or_delete_outlives_its_removal_from_the_template(
    stacks: Stacks, client: ClientFactory
) -> None:
    kept = {**group("/removed", "RetainExceptOnCreate"), "UpdateReplacePolicy": "Retain"}
    other = {"Type": "AWS::Logs::LogGroup"}
    stack = stacks.create({"Group": kept, "Other": other})

    stacks.update(stack, {"Other": other})

    assert stacks.status(stack) == "UPDATE_COMPLETE"
    assert groups(client, "/removed") == ["/removed"]


def test_a_failed_first_create_can_be_deleted_and_created_again(stacks: Stacks, client: ClientFactory) -> None:
    name = stacks.create({"Group": group("/second-try", "RetainExceptOnCreate"), "Refused": REFUSED})
    stacks.delete(name)

    stacks.create({"Group": group("/second-try", "RetainExceptOnCreate")}, name=name)

    assert stacks.status(name) == "CREATE_COMPLETE"
    assert groups(client, "/second-try") == ["/second-try"]
