"""Stacks on a local cloud, from resources alone, and the Lambdas of custom resources in them."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import Any

import yaml

from tests.support.aws_clients import ClientFactory
from tests.support.waiting import eventually

FUNCTION_ROLE = "arn:aws:iam::123456789012:role/function"


@dataclass(frozen=True)
class Stacks:
    """Creates stacks from resources and says what became of them."""

    client: ClientFactory

    def create(
        self, resources: dict[str, Any], *, name: str | None = None, outputs: dict[str, Any] | None = None
    ) -> str:
        name = name or f"stack-{uuid.uuid4().hex[:8]}"
        template = {"Resources": resources, **({"Outputs": outputs} if outputs else {})}
        self.client("cloudformation").create_stack(StackName=name, TemplateBody=yaml.safe_dump(template))
        self.settled(name)
        return name

    def update(self, name: str, resources: dict[str, Any]) -> None:
        self.client("cloudformation").update_stack(
            StackName=name, TemplateBody=yaml.safe_dump({"Resources": resources})
        )
        self.settled(name)

    def delete(self, name: str) -> str:
        stack_id = self.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackId"]
        self.client("cloudformation").delete_stack(StackName=name)
        return self.settled(stack_id)

    def status(self, name: str) -> str:
        return str(self.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackStatus"])

    def settled(self, name: str) -> str:
        return eventually(
            lambda: None if (status := self.status(name)).endswith("IN_PROGRESS") else status, "the stack's rest"
        )

    def outputs(self, name: str) -> dict[str, str]:
        stack = self.client("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def failure(self, name: str) -> str:
        """The reason in the event of the resource that failed first."""
        events = self.client("cloudformation").describe_stack_events(StackName=name)["StackEvents"]
        failed = [event for event in events if event["ResourceStatus"] in ("CREATE_FAILED", "UPDATE_FAILED")]
        return str(failed[-1]["ResourceStatusReason"])

    def resource(self, name: str, logical_id: str) -> str:
        detail = self.client("cloudformation").describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return str(detail["StackResourceDetail"]["PhysicalResourceId"])


def function(code: str, *, timeout: int = 10) -> dict[str, Any]:
    return {
        "Type": "AWS::Lambda::Function",
        "Properties": {
            "Runtime": "python3.12",
            "Handler": "index.handler",
            "Role": FUNCTION_ROLE,
            "Timeout": timeout,
            "Code": {"ZipFile": code},
        },
    }


def custom_resource(**properties: Any) -> dict[str, Any]:
    return {"Type": "Custom::Test", "Properties": {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}, **properties}}


def answering(before: str = "", data: str = "{}") -> str:
    return f"""
import json, os, sys, urllib.request
def handler(event, context):
    {before or "pass"}
    answer = {{"Status": "SUCCESS", "PhysicalResourceId": "made", "StackId": event["StackId"], "Data": {data},
              "RequestId": event["RequestId"], "LogicalResourceId": event["LogicalResourceId"]}}
    urllib.request.urlopen(urllib.request.Request(event["ResponseURL"], json.dumps(answer).encode(), method="PUT"))
"""
