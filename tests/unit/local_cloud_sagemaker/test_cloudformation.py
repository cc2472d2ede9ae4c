"""The three types in a stack: references, replacement, blue/green updates, and roll-backs that leave nothing behind."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.hosting import ROLE, Hosting
from tests.support.waiting import eventually


class Stack:
    """A stack with one model, its configuration and its endpoint."""

    def __init__(self, hosting: Hosting) -> None:
        self.name = f"stack-{uuid.uuid4().hex[:8]}"
        self.endpoint = f"endpoint-{self.name}"
        self._hosting = hosting

    def template(
        self, environment: dict[str, str], variant: dict[str, Any] | None = None, endpoint: dict[str, Any] | None = None
    ) -> str:
        resources = {
            "Model": {
                "Type": "AWS::SageMaker::Model",
                "Properties": {
                    "ExecutionRoleArn": ROLE,
                    "PrimaryContainer": {"Image": "i", "Environment": environment},
                },
            },
            "Config": {
                "Type": "AWS::SageMaker::EndpointConfig",
                "Properties": {
                    "ProductionVariants": [
                        {
                            "VariantName": "main",
                            "ModelName": {"Fn::GetAtt": ["Model", "ModelName"]},
                            "InitialInstanceCount": "1",
                            "InstanceType": "ml.c6i.xlarge",
                            **(variant or {}),
                        }
                    ]
                },
            },
            "Endpoint": {
                "Type": "AWS::SageMaker::Endpoint",
                "Properties": {
                    "EndpointName": self.endpoint,
                    "EndpointConfigName": {"Fn::GetAtt": ["Config", "EndpointConfigName"]},
                    **(endpoint or {}),
                },
            },
        }
        outputs = {
            "Arn": {"Value": {"Ref": "Endpoint"}},
            "Name": {"Value": {"Fn::GetAtt": ["Endpoint", "EndpointName"]}},
        }
        return json.dumps({"Resources": resources, "Outputs": outputs})

    def create(self, template: str) -> str:
        self._hosting.cloudformation.create_stack(StackName=self.name, TemplateBody=template)
        return self._status()

    def update(self, template: str) -> str:
        self._hosting.cloudformation.update_stack(StackName=self.name, TemplateBody=template)
        return self._status()

    def delete(self) -> None:
        self._hosting.cloudformation.delete_stack(StackName=self.name)
        eventually(lambda: not self._exists(), f"{self.name} is gone")

    def outputs(self) -> dict[str, str]:
        stack = self._hosting.cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}

    def failures(self) -> str:
        events = self._hosting.cloudformation.describe_stack_events(StackName=self.name)["StackEvents"]
        return "\n".join(e.get("ResourceStatusReason", "") for e in events if "FAILED" in e["ResourceStatus"])

    def resources(self) -> list[str]:
        """The names of all models, configurations and endpoints of this stack that SageMaker has."""
        sagemaker = self._hosting.sagemaker
        return [
            *(m["ModelName"] for m in sagemaker.list_models(NameContains=self.name)["Models"]),
            *(
                c["EndpointConfigName"]
                for c in sagemaker.list_endpoint_configs(NameContains=self.name)["EndpointConfigs"]
            ),
            *(e["EndpointName"] for e in sagemaker.list_endpoints(NameContains=self.name)["Endpoints"]),
        ]

    def _status(self) -> str:
        def look() -> str | None:
            status = self._hosting.cloudformation.describe_stacks(StackName=self.name)["Stacks"][0]["StackStatus"]
            return status if not status.endswith("PROGRESS") else None

        return eventually(look, f"{self.name} settles")

    def _exists(self) -> bool:
        summaries = self._hosting.cloudformation.list_stacks()["StackSummaries"]
        return any(s["StackName"] == self.name and s["StackStatus"] != "DELETE_COMPLETE" for s in summaries)


@pytest.fixture
def stack(hosting: Hosting) -> Iterator[Stack]:
    stack = Stack(hosting)
    yield stack
    stack.delete()
    assert stack.resources() == []


def test_a_stack_creates_an_endpoint_that_answers(hosting: Hosting, stack: Stack) -> None:
    assert stack.create(stack.template({"RELEASE": "1"})) == "CREATE_COMPLETE"

    assert stack.outputs()["Arn"].endswith(f":endpoint/{stack.endpoint}")
    assert stack.outputs()["Name"] == stack.endpoint
    assert hosting.ask(stack.endpoint)["environment"]["RELEASE"] == "1"


def test_a_changed_model_replaces_model_and_configuration_and_updates_the_endpoint(
    hosting: Hosting, stack: Stack
) -> None:
    stack.create(stack.template({"RELEASE": "1"}))
    before = stack.resources()

    assert stack.update(stack.template({"RELEASE": "2"})) == "UPDATE_COMPLETE"

    after = stack.resources()
    assert hosting.ask(stack.endpoint)["environment"]["RELEASE"] == "2"
    assert len(after) == 3
    assert set(before) & set(after) == {stack.endpoint}


def test_a_failed_create_leaves_nothing_and_gives_the_containers_reason(stack: Stack) -> None:
    assert stack.create(stack.template({"REFUSE": "wrong digest"})) == "ROLLBACK_COMPLETE"

    assert "wrong digest. The primary container" in stack.failures()
    assert stack.resources() == []


def test_a_failed_update_rolls_back_to_the_process_that_never_stopped(hosting: Hosting, stack: Stack) -> None:
    stack.create(stack.template({"RELEASE": "1"}))
    before, pid = stack.resources(), hosting.ask(stack.endpoint)["pid"]

    assert stack.update(stack.template({"REFUSE": "wrong digest"})) == "UPDATE_ROLLBACK_COMPLETE"

    assert "wrong digest" in stack.failures()
    assert stack.resources() == before
    assert hosting.ask(stack.endpoint)["pid"] == pid


@pytest.mark.parametrize(
    ("variant", "endpoint", "named"),
    [
        ({"InstanceTyp": "ml.c6i.xlarge"}, {}, "InstanceTyp"),
        ({}, {"RetainAllVariantPropertie": True}, "RetainAllVariantPropertie"),
        ({}, {"RetainAllVariantProperties": "maybe"}, "RetainAllVariantProperties"),
        ({"InstanceType": "ml.c99.xlarge"}, {}, "ml.c99.xlarge"),
    ],
)
def test_a_property_that_sagemaker_does_not_know_fails_the_deploy(
    stack: Stack, variant: dict[str, Any], endpoint: dict[str, Any], named: str
) -> None:
    assert stack.create(stack.template({}, variant, endpoint)) == "ROLLBACK_COMPLETE"

    assert named in stack.failures()


def test_a_misspelt_property_fails_an_update_too(stack: Stack) -> None:
    stack.create(stack.template({}))

    assert stack.update(stack.template({}, None, {"RetainAll": True})) == "UPDATE_ROLLBACK_COMPLETE"

    assert "RetainAll" in stack.failures()


def test_a_stacks_tags_reach_its_endpoint(hosting: Hosting, stack: Stack) -> None:
    stack.create(stack.template({}, None, {"Tags": [{"Key": "team", "Value": "routing"}]}))

    tags = hosting.sagemaker.list_tags(ResourceArn=stack.outputs()["Arn"])["Tags"]

    assert {"Key": "team", "Value": "routing"} in tags
    assert {"Key": "aws:cloudformation:stack-name", "Value": stack.name} in tags
