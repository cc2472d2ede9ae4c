"""Custom resource behind the CDK's Provider framework: builds what the template needs unless it exists, and waits.

The framework answers CloudFormation: what these functions raise becomes the reason of the failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from build import BuildFailed, is_running, start_build
from clients import Clients
from image_result import find_image
from package_result import find_package
from request import ImagePlace, PackagePlace, read_request


def on_event(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Return the finished result, or start the build that makes it."""
    return begin(event, Clients())


def is_complete(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Say whether the build is done; called again and again until it is."""
    return look(event, Clients())


def begin(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """`on_event` with its clients.

    Deleting always succeeds: results are kept, and a build that still runs can only add one.
    """
    if event["RequestType"] == "Delete":
        return {"PhysicalResourceId": event.get("PhysicalResourceId", "build-run/not-created")}
    request = read_request(event["ResourceProperties"])
    found = _find(request.result, clients)
    if found is not None:
        return {"PhysicalResourceId": request.physical_id, "Data": {**found, "BuildId": ""}}
    build_id = start_build(request, event["RequestId"], clients.codebuild)
    return {"PhysicalResourceId": request.physical_id, "Data": {"BuildId": build_id}}


def look(event: Mapping[str, Any], clients: Clients) -> dict[str, Any]:
    """`is_complete` with its clients; `event` holds what `on_event` returned."""
    if event["RequestType"] == "Delete":
        return {"IsComplete": True}
    build_id = event["Data"]["BuildId"]
    if not build_id:
        return {"IsComplete": True}
    if is_running(build_id, clients):
        return {"IsComplete": False}
    request = read_request(event["ResourceProperties"])
    found = _find(request.result, clients)
    if found is None:
        raise BuildFailed(f"build {build_id} succeeded but {_what_is_missing(request.result)}")
    return {"IsComplete": True, "Data": {**found, "BuildId": build_id}}


def _find(place: PackagePlace | ImagePlace, clients: Clients) -> dict[str, str] | None:
    if isinstance(place, PackagePlace):
        return find_package(place, clients.s3)
    return find_image(place, clients.ecr)


def _what_is_missing(place: PackagePlace | ImagePlace) -> str:
    if isinstance(place, PackagePlace):
        return f"wrote no {place.uri}: does its buildspec package the model that the template pins?"
    return f"pushed no {place.repository}:{place.tag}: does its buildspec push the tag that the template names?"
