"""The builds that a deploy would start, as its templates describe them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from decision_client.assembly import Resource, Stack
from decision_client.aws import Clients
from decision_client.builds.deployed import as_deployed
from decision_client.place import Place
from decision_client.template_values import Lookup, Unresolved, resolve

BUILD_RUN = "Custom::BuildRun"


@dataclass(frozen=True)
class PackagePlace:
    """Where a packaging build writes its manifest, last of all."""

    bucket: str
    key: str


@dataclass(frozen=True)
class ImagePlace:
    """Where an image build pushes."""

    repository: str
    tag: str


@dataclass(frozen=True)
class BuildRequest:
    """A CodeBuild project to run with an environment, unless the result it would leave is there already."""

    described: str
    project: str
    result: PackagePlace | ImagePlace
    environment: dict[str, str]


def has_builds(stack: Stack, *, images: bool) -> bool:
    """Whether a deploy of the stack would start a build of this kind."""
    return any(_is_image(resource) is images for resource in stack.of_type(BUILD_RUN))


def build_requests(stacks: Sequence[Stack], place: Place, clients: Clients, *, images: bool) -> Iterator[BuildRequest]:
    """The builds of packages, or of images, with the values that the deploy would pass.

    Raises
    ------
    NotDeployed
        If the stack with the project, or with anything else that the build is told, is not deployed.
    NotReadable
        If AWS does not say.
    Unresolved
        If a value is made in a way that cannot be followed.
    """
    for stack in stacks:
        for resource in stack.of_type(BUILD_RUN):
            if _is_image(resource) is images:
                yield _read(resource, stack, as_deployed(stack, place, clients))


def _is_image(resource: Resource) -> bool:
    return "ResultRepository" in resource.properties


def _read(resource: Resource, stack: Stack, lookup: Lookup) -> BuildRequest:
    def text(name: str) -> str:
        return resolve(resource.properties.get(name), lookup)

    result: PackagePlace | ImagePlace
    if _is_image(resource):
        result = ImagePlace(text("ResultRepository"), text("ResultTag"))
    else:
        result = PackagePlace(text("ResultBucket"), text("ResultKey"))
    environment = json.loads(text("Environment")) if "Environment" in resource.properties else {}
    if not isinstance(environment, dict):
        raise Unresolved(f"{stack.path} {resource.logical_id} has an Environment that is no JSON object")
    return BuildRequest(
        described=f"{stack.path} {resource.logical_id}",
        project=text("Project"),
        result=result,
        environment={str(name): str(value) for name, value in environment.items()},
    )
