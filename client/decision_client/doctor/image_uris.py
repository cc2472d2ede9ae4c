"""Which images a deploy pulls: of the models, and what an image build starts from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from decision_client.assembly import Resource, Stack
from decision_client.builds.request import BUILD_RUN
from decision_client.doctor.template_lookup import known_before_deploy
from decision_client.place import Place
from decision_client.template_values import Unresolved, references, resolve

_ECR_URI = re.compile(
    r"(?P<registry>[0-9]{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/"
    r"(?P<repository>[a-z0-9]+(?:[._/-]+[a-z0-9]+)*)(?:@(?P<digest>sha256:[0-9a-f]{64})|:(?P<tag>[A-Za-z0-9_.-]+))"
)


@dataclass(frozen=True)
class EcrUri:
    """An image in private ECR. Exactly one of `digest` and `tag` is given."""

    registry: str
    region: str
    repository: str
    digest: str | None
    tag: str | None

    def __str__(self) -> str:
        return f"{self.repository}@{self.digest[:19]}…" if self.digest else f"{self.repository}:{self.tag}"


@dataclass(frozen=True)
class UnreadableUri:
    """An image whose URI is not in private ECR, or not known before the deploy; `reason` says which."""

    used_by: str
    reason: str
    is_wrong: bool


def image_uris(stack: Stack, place: Place) -> Iterator[EcrUri | UnreadableUri]:
    """Every image that must exist before the deploy. What the deploy itself builds is not among them."""
    for model in stack.of_type("AWS::SageMaker::Model"):
        yield from _of_model(model, stack, place)
    # A project's own variables, and what a run of it adds: the base image of an image build is in one of them.
    for resource in stack.resources:
        if resource.type in ("AWS::CodeBuild::Project", BUILD_RUN):
            yield from _mentioned(resource, stack, place)


def _of_model(model: Resource, stack: Stack, place: Place) -> Iterator[EcrUri | UnreadableUri]:
    built = {resource.logical_id for resource in stack.of_type(BUILD_RUN)}
    containers = [model.properties.get("PrimaryContainer"), *model.properties.get("Containers", [])]
    for image in [container["Image"] for container in containers if container and "Image" in container]:
        if any(reference.name in built for reference in references(image)):
            continue
        used_by = f"{stack.path} {model.logical_id}"
        try:
            uri = resolve(image, known_before_deploy(stack, place))
        except Unresolved as error:
            yield UnreadableUri(used_by, f"the image cannot be told from the template: {error}", is_wrong=False)
            continue
        match = _ECR_URI.fullmatch(uri)
        if match is None:
            reason = f"{uri} is no image with a tag or digest in private ECR, and SageMaker pulls from nowhere else"
            yield UnreadableUri(used_by, f"{reason}: copy it to a repository of the account", is_wrong=True)
        else:
            yield EcrUri(**match.groupdict())


def _mentioned(resource: Resource, stack: Stack, place: Place) -> Iterator[EcrUri]:
    variables = resource.properties.get("Environment")
    if isinstance(variables, dict) and "EnvironmentVariables" in variables:
        values = [variable.get("Value") for variable in variables["EnvironmentVariables"]]
    else:
        values = [variables]
    for value in values:
        try:
            text = resolve(value, known_before_deploy(stack, place))
        except Unresolved:
            # Names of what the stacks themselves make; the base image is none of them.
            text = _texts(value)
        yield from (EcrUri(**match.groupdict()) for match in _ECR_URI.finditer(text))


def _texts(value: object) -> str:
    """The plain texts in a value, joined: an image whose URI is whole in one of them is found."""
    if isinstance(value, str):
        return value
    items = value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else []
    return " ".join(map(_texts, items))
