"""What a template's references stand for once the stacks they come from are deployed."""

from __future__ import annotations

from typing import Any

from decision_client.assembly import Stack
from decision_client.aws import AwsError, Clients, error_code, why_not
from decision_client.place import Place
from decision_client.template_values import Lookup, Reference, Unresolved


class NotDeployed(Exception):
    """A stack that must be there first is not; the text says which."""


class NotReadable(Exception):
    """AWS did not say what is deployed."""


def as_deployed(stack: Stack, place: Place, clients: Clients) -> Lookup:
    """Exports of other stacks, and the physical ids of what the stack itself already holds."""
    pseudo = {**place.pseudo_parameters, "AWS::StackName": stack.name}
    cloudformation = clients("cloudformation", place.region)
    exports: dict[str, str] = {}

    def lookup(reference: Reference) -> str:
        if reference.is_import:
            if not exports:
                exports.update(_read_exports(cloudformation))
            if reference.name not in exports:
                owner = reference.name.partition(":")[0]
                raise NotDeployed(f"nothing exports {reference.name}: deploy stack {owner} of this app first")
            return exports[reference.name]
        if reference.attribute is not None:
            raise Unresolved(f"CloudFormation does not tell {reference} of a deployed stack")
        return pseudo.get(reference.name) or _physical_id(reference.name, stack, cloudformation)

    return lookup


def _read_exports(cloudformation: Any) -> dict[str, str]:
    found: dict[str, str] = {}
    token: dict[str, str] = {}
    while True:
        try:
            page = cloudformation.list_exports(**token)
        except AwsError as error:
            raise NotReadable(why_not(error, "cloudformation:ListExports")) from error
        found |= {str(export["Name"]): str(export["Value"]) for export in page.get("Exports", [])}
        if not page.get("NextToken"):
            return found
        token = {"NextToken": page["NextToken"]}


def _physical_id(logical_id: str, stack: Stack, cloudformation: Any) -> str:
    try:
        answer = cloudformation.describe_stack_resource(StackName=stack.name, LogicalResourceId=logical_id)
    except AwsError as error:
        if error_code(error) == "ValidationError":
            raise NotDeployed(f"stack {stack.name} has no {logical_id} yet: deploy it first ({error})") from error
        raise NotReadable(why_not(error, "cloudformation:DescribeStackResource")) from error
    return str(answer["StackResourceDetail"]["PhysicalResourceId"])
