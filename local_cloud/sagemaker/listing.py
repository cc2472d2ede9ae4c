"""The List operations: filter, sort, one page at a time."""

from __future__ import annotations

from collections.abc import Sequence

from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.sagemaker.endpoint import Endpoint
from local_cloud.sagemaker.resources import Kind, Resource

_DEFAULT_PAGE = 10
_SUPPORTED = {"NameContains", "StatusEquals", "SortBy", "SortOrder", "MaxResults", "NextToken"}


def page(field: str, kind: Kind, resources: Sequence[Resource], request: JsonObject) -> JsonObject:
    """The page of `resources` that a validated List request asks for, under `field`.

    The newest come first by default, as SageMaker lists them; a token is the position of the next page.
    """
    if beyond := sorted(set(request) - _SUPPORTED):
        raise ApiError("ValidationException", f"The local cloud lists without {', '.join(beyond)}.")
    found = [_summary(kind, resource) for resource in resources if _matches(resource, request)]
    key = {"Name": kind.name_field, "Status": "EndpointStatus"}.get(request.get("SortBy", ""), "CreationTime")
    found.sort(key=lambda summary: summary[key], reverse=request.get("SortOrder", "Descending") == "Descending")
    start = _position(request.get("NextToken", "0"))
    end = start + request.get("MaxResults", _DEFAULT_PAGE)
    answer: JsonObject = {field: found[start:end]}
    if end < len(found):
        answer["NextToken"] = str(end)
    return answer


def _matches(resource: Resource, request: JsonObject) -> bool:
    status = resource.status if isinstance(resource, Endpoint) else None
    return request.get("NameContains", "") in resource.name and request.get("StatusEquals", status) == status


def _summary(kind: Kind, resource: Resource) -> JsonObject:
    summary: JsonObject = {
        kind.name_field: resource.name,
        kind.arn_field: resource.arn,
        "CreationTime": resource.created,
    }
    if isinstance(resource, Endpoint):
        summary |= {"EndpointStatus": resource.status, "LastModifiedTime": resource.modified}
    return summary


def _position(token: str) -> int:
    if not token.isdecimal():
        raise ApiError("ValidationException", f"NextToken {token!r} is not one that this operation returned.")
    return int(token)
