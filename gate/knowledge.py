"""What is known of resource types: which hold something that is lost with them, and what cannot be changed in place.

Both come from the data that cfn-lint brings: AWS's resource schemas, and its list of stateful types. Only what these
do not cover stands here.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from cfnlint.data import AdditionalSpecs
from cfnlint.helpers import load_resource
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER, ResourceNotFoundError

Properties = Mapping[str, object]

# Beyond cfn-lint's list: images that endpoints run, subscriptions that people confirmed, the log of an endpoint.
_STATEFUL_TOO = frozenset({"AWS::ECR::Repository", "AWS::SNS::Topic", "Custom::EndpointLogGroup"})
# Of custom resources no schema tells which property makes another physical id.
_CREATE_ONLY_OF_OURS = {"Custom::EndpointLogGroup": ("LogGroupName",)}


@cache
def _stateful() -> frozenset[str]:
    return frozenset(load_resource(AdditionalSpecs, "StatefulResources.json")["ResourceTypes"]) | _STATEFUL_TOO


def is_stateful(kind: str) -> bool:
    """Whether a resource of this type holds something that is lost with it."""
    return kind in _stateful()


@cache
def _create_only(kind: str, region: str) -> tuple[tuple[str, ...], ...]:
    try:
        schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(region, kind).schema
    except ResourceNotFoundError:
        return ()
    pointers = [*schema.get("createOnlyProperties", ()), *schema.get("conditionalCreateOnlyProperties", ())]
    paths = [tuple(pointer.removeprefix("/properties/").split("/")) for pointer in pointers]
    return (*paths, *((name,) for name in _CREATE_ONLY_OF_OURS.get(kind, ())))


def create_only_values(kind: str, region: str, properties: Properties) -> dict[str, object]:
    """The properties that CloudFormation can only give to a new resource, or may only, by name, with their values."""
    values = {".".join(path): _at(properties, path) for path in _create_only(kind, region)}
    return {name: value for name, value in values.items() if value is not None}


def _at(value: object, path: tuple[str, ...]) -> object:
    if not path:
        return value
    if isinstance(value, list):
        rest = path[1:] if path[0] == "*" else path
        return [_at(item, rest) for item in value]
    if isinstance(value, dict):
        # A function that CloudFormation resolves stands for everything below it.
        function = len(value) == 1 and next(iter(value)).startswith(("Fn::", "Ref"))
        return value if function else _at(value.get(path[0]), path[1:])
    return None
