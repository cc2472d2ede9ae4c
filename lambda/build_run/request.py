"""What the template asks to be built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class PackagePlace:
    """Where a packaging build writes its manifest, last of all."""

    bucket: str
    key: str

    @property
    def uri(self) -> str:
        """`s3://bucket/key`."""
        return f"s3://{self.bucket}/{self.key}"


@dataclass(frozen=True)
class ImagePlace:
    """Where an image build pushes, under a tag that is made of all that decides the image."""

    repository: str
    tag: str


@dataclass(frozen=True)
class BuildRequest:
    """A CodeBuild project to run with an environment, unless the result it would leave is there already."""

    project: str
    result: PackagePlace | ImagePlace
    inputs: str
    environment: dict[str, str]

    @property
    def physical_id(self) -> str:
        """Depends on the inputs alone, so that an update with the same inputs keeps it."""
        return f"build-run/{self.inputs[:16]}"


def read_request(properties: Mapping[str, object]) -> BuildRequest:
    """Read `ResourceProperties`; ValueError names the property that is wrong."""
    return BuildRequest(
        project=_text(properties, "Project"),
        result=_place(properties),
        inputs=_text(properties, "Inputs"),
        environment=_environment(properties.get("Environment", "{}")),
    )


def _place(properties: Mapping[str, object]) -> PackagePlace | ImagePlace:
    if "ResultRepository" in properties:
        return ImagePlace(_text(properties, "ResultRepository"), _text(properties, "ResultTag"))
    return PackagePlace(_text(properties, "ResultBucket"), _text(properties, "ResultKey"))


def _text(properties: Mapping[str, object], name: str) -> str:
    value = properties.get(name)
    if not isinstance(value, str) or not value:
        raise ValueError(f"property {name} is {value!r:.100}: give a text of at least one character")
    return value


def _environment(text: object) -> dict[str, str]:
    try:
        document = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        document = text
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise ValueError(f"property Environment is {text!r:.200}: give a JSON object of texts, as JSON text")
    return document
