"""What a synth leaves in its folder: the templates, and which environment and stack each is for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml


@dataclass(frozen=True)
class Template:
    """One stack's template. `stack` is its name in CloudFormation, ``dev-Artifacts``; `name` its id, ``Artifacts``."""

    environment: str
    stack: str
    name: str
    region: str
    path: Path
    metadata: Path | None

    @cached_property
    def document(self) -> dict[str, Any]:
        """The template."""
        document: dict[str, Any] = json.loads(self.path.read_text())
        return document

    @property
    def resources(self) -> dict[str, dict[str, Any]]:
        """Its resources by logical id."""
        resources: dict[str, dict[str, Any]] = self.document.get("Resources", {})
        return resources

    @cached_property
    def construct_paths(self) -> dict[str, str]:
        """For each logical id the path of its construct within the environment, ``Artifacts/Store/Bucket/Resource``."""
        if self.metadata is None:
            return {}
        return {
            entry["data"]: path.removeprefix(f"/{self.environment}/")
            for path, entries in json.loads(self.metadata.read_text()).items()
            for entry in entries
            if entry["type"] == "aws:cdk:logicalId"
        }


def read_templates(assembly: Path) -> list[Template]:
    """Every template in the folder that an app was synthesized to, by the name of its stack."""
    return sorted(_templates(assembly), key=lambda template: template.stack)


def _templates(assembly: Path) -> Iterator[Template]:
    for artifact in _artifacts(assembly):
        properties = artifact.get("properties", {})
        if artifact["type"] == "cdk:cloud-assembly":
            yield from _templates(assembly / properties["directoryName"])
        elif artifact["type"] == "aws:cloudformation:stack":
            environment, _, name = artifact["displayName"].partition("/")
            metadata = artifact.get("additionalMetadataFile")
            yield Template(
                environment=environment,
                stack=properties["stackName"],
                name=name,
                region=artifact["environment"].rpartition("/")[2],
                path=assembly / properties["templateFile"],
                metadata=assembly / metadata if metadata else None,
            )


def _artifacts(assembly: Path) -> list[dict[str, Any]]:
    return list(json.loads((assembly / "manifest.json").read_text())["artifacts"].values())


def local_environments(root: Path) -> set[str]:
    """The environments of the local cloud in the checkout at `root`: in its account nothing can be lost."""
    return {
        path.stem
        for path in (root / "environments").glob("*.yaml")
        if yaml.safe_load(path.read_text(encoding="utf-8")).get("cloud") == "local"
    }
