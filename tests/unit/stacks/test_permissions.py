"""Every permission that any environment grants: no wildcard but those that stand here with their reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Templates = Mapping[str, Mapping[str, Any]]
Statement = Mapping[str, Any]

# Actions that know no resource, so "*" is all that can be written. Source: service authorization reference.
KNOW_NO_RESOURCE = {
    "cloudwatch:PutMetricData": "metrics have no ARN; the namespace is a condition",
    "ecr:GetAuthorizationToken": "a token is for the whole registry; what it opens is granted by repository",
}

# Policies of a resource itself, in which "*" means that resource.
OF_THE_RESOURCE = ("AWS::KMS::Key",)


# Of the CDK's function that empties a bucket which goes with its stack: AWSLambdaBasicExecutionRole. It takes no role.
MAY_HAVE_A_MANAGED_POLICY = "CustomS3AutoDeleteObjectsCustomResourceProviderRole3B1BD092"


@dataclass(frozen=True)
class Granted:
    """One statement that allows something, and the resource of the template it stands in."""

    stack: str
    logical_id: str
    type: str
    statement: Statement

    @property
    def where(self) -> str:
        return f"{self.stack} {self.logical_id}"

    @property
    def actions(self) -> list[str]:
        return _as_list(self.statement["Action"])


def test_no_statement_allows_all_actions_of_a_service(templates: Templates) -> None:
    broad = [
        f"{granted.where}: {action}"
        for granted in _allowed(templates)
        for action in granted.actions
        if action == "*" or action.endswith(":*")
        # A key's owner must be able to administer it, or nobody ever can again.
        if not (granted.type == "AWS::KMS::Key" and action == "kms:*" and "root" in str(granted.statement["Principal"]))
    ]

    assert broad == []


def test_all_resources_are_granted_only_where_an_action_knows_none(templates: Templates) -> None:
    unnamed = {
        action: granted.where
        for granted in _allowed(templates)
        if granted.type not in OF_THE_RESOURCE and "*" in _as_list(granted.statement.get("Resource", []))
        for action in granted.actions
    }

    assert set(unnamed) == set(KNOW_NO_RESOURCE), unnamed


def test_nobody_outside_the_account_is_allowed_anything(templates: Templates) -> None:
    public = [
        granted.where for granted in _allowed(templates) if granted.statement.get("Principal") in ("*", {"AWS": "*"})
    ]

    assert public == []


def test_no_role_has_a_managed_policy_but_the_one_that_takes_none_of_ours(templates: Templates) -> None:
    attached = {
        logical_id
        for template in templates.values()
        for logical_id, resource in template["Resources"].items()
        if resource.get("Properties", {}).get("ManagedPolicyArns")
    }

    assert attached == {MAY_HAVE_A_MANAGED_POLICY}


def test_only_services_of_aws_and_roles_of_a_stack_itself_take_a_role(templates: Templates) -> None:
    trusted = {
        str(principal)
        for granted in _allowed(templates)
        if granted.type == "AWS::IAM::Role" and "sts:AssumeRole" in granted.actions
        for principal in granted.statement["Principal"].values()
    }

    assert trusted <= {
        "codebuild.amazonaws.com",
        "lambda.amazonaws.com",
        "sagemaker.amazonaws.com",
        "states.amazonaws.com",
    }


def _allowed(templates: Templates) -> Iterator[Granted]:
    for stack, template in templates.items():
        for logical_id, resource in template["Resources"].items():
            for statement in _statements(resource.get("Properties", {})):
                if statement["Effect"] == "Allow":
                    yield Granted(stack, logical_id, resource["Type"], statement)


def _statements(value: object) -> Iterator[Statement]:
    """Every statement of every policy document below `value`, whatever the property is called."""
    if isinstance(value, dict):
        if isinstance(value.get("Statement"), list):
            yield from value["Statement"]
        else:
            for inner in value.values():
                yield from _statements(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _statements(inner)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
