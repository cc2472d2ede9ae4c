"""What `cdk synth` wrote: the cloud assembly, which is exactly what a deploy would use.

Source: aws-cdk, `cloud-assembly-schema`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

_MANIFEST = "manifest.json"
_UNKNOWN = "unknown-"
_DEEPEST = 16
# What comes of a list where the schema has an object, and the like.
_OTHER_SHAPES = (AttributeError, KeyError, RecursionError, TypeError, ValueError)


class AssemblyUnreadable(Exception):
    """There is no cloud assembly there, or it is damaged; the text says what to do."""


class NoSuchEnvironment(Exception):
    """The assembly has no stack of that name; the text says which it has."""


@dataclass(frozen=True)
class Resource:
    """One resource of a template."""

    logical_id: str
    type: str
    properties: Mapping[str, Any]


@dataclass(frozen=True)
class Asset:
    """A file or folder that the CDK CLI uploads first. `path` is None where a command makes it."""

    name: str
    path: Path | None


@dataclass(frozen=True)
class Bootstrap:
    """The bootstrap stack that a stack needs: the SSM parameter that holds its version, and the least version."""

    parameter: str
    version: int


@dataclass(frozen=True)
class Stack:
    """One stack.

    Parameters
    ----------
    path, name:
        Its name in the app (``dev/Endpoint``) and in CloudFormation (``dev-Endpoint``).
    account, region:
        Where it goes; None where the app leaves that to whoever deploys.
    resources:
        Of its template and of the stacks nested in it.
    bootstrap:
        None where it needs none.
    deploy_role, execution_role, other_roles:
        ARNs of the roles that the CLI assumes to deploy, that CloudFormation creates the resources as, and that the CLI
        assumes to upload or look up; with placeholders such as ``${AWS::Partition}``.
    assets:
        What is uploaded first.
    errors:
        What the app says is wrong with it; the CLI deploys no such stack.
    """

    path: str
    name: str
    account: str | None
    region: str | None
    resources: tuple[Resource, ...]
    bootstrap: Bootstrap | None
    deploy_role: str | None
    execution_role: str | None
    other_roles: tuple[str, ...]
    assets: tuple[Asset, ...]
    errors: tuple[str, ...]

    def of_type(self, kind: str) -> Iterator[Resource]:
        """Its resources of one type."""
        return (resource for resource in self.resources if resource.type == kind)


def read_assembly(folder: Path) -> list[Stack]:
    """Every stack of an assembly and of the assemblies of its Stages, in the manifest's order.

    Raises
    ------
    AssemblyUnreadable
        If there is none in `folder`, or a file of it is missing or damaged.
    """
    try:
        return list(_stacks_in(folder))
    except _OTHER_SHAPES as error:
        # Whoever wrote it, it is not what the CDK writes: where exactly is of no use to anybody.
        raise AssemblyUnreadable(
            f"{folder} is a damaged cloud assembly ({type(error).__name__}): write it anew with `cdk synth`"
        ) from error


def select(stacks: list[Stack], environment: str) -> list[Stack]:
    """The stacks of a Stage (``dev``), one stack (``dev/Endpoint``, ``Routing``) or a pattern (``dev/*``).

    Raises
    ------
    NoSuchEnvironment
        If there is none.
    """
    found = [
        stack
        for stack in stacks
        if stack.path == environment or stack.path.startswith(f"{environment}/") or fnmatchcase(stack.path, environment)
    ]
    if not found:
        known = sorted({stack.path.split("/")[0] for stack in stacks})
        near = get_close_matches(environment, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known) or 'no stack at all'}"
        raise NoSuchEnvironment(f"no stack of the app belongs to {environment!r}: {hint}")
    return found


def _stacks_in(folder: Path, depth: int = 0) -> Iterator[Stack]:
    artifacts = _object(_read(folder / _MANIFEST).get("artifacts"), folder / _MANIFEST)
    for artifact in artifacts.values():
        properties = artifact.get("properties", {})
        if artifact.get("type") == "cdk:cloud-assembly" and depth < _DEEPEST:
            yield from _stacks_in(folder / str(properties.get("directoryName", "")), depth + 1)
        elif artifact.get("type") == "aws:cloudformation:stack":
            yield _stack(artifact, artifacts, folder)


def _stack(artifact: Mapping[str, Any], artifacts: Mapping[str, Any], folder: Path) -> Stack:
    properties = artifact["properties"]
    account, _, region = str(artifact.get("environment", "")).removeprefix("aws://").partition("/")
    path = str(artifact.get("displayName") or properties.get("stackName") or properties["templateFile"])
    manifests = [
        artifacts[name]["properties"]
        for name in artifact.get("dependencies", [])
        if artifacts.get(name, {}).get("type") == "cdk:asset-manifest"
    ]
    uploads = [upload for manifest in manifests for upload in _uploads(folder / manifest["file"])]
    lookup_role = properties.get("lookupRole", {}).get("arn")
    return Stack(
        path=path,
        name=str(properties.get("stackName", path.replace("/", "-"))),
        account=None if account.startswith(_UNKNOWN) or not account else account,
        region=None if region.startswith(_UNKNOWN) or not region else region,
        resources=tuple(_resources(folder / properties["templateFile"])),
        bootstrap=_bootstrap([properties, *manifests]),
        deploy_role=_text(properties.get("assumeRoleArn")),
        execution_role=_text(properties.get("cloudFormationExecutionRoleArn")),
        other_roles=tuple(
            dict.fromkeys([*[role for _, roles in uploads for role in roles], *filter(None, [_text(lookup_role)])])
        ),
        assets=tuple(asset for asset, _ in uploads),
        errors=tuple(_errors(artifact, folder)),
    )


def _bootstrap(wanted: list[Mapping[str, Any]]) -> Bootstrap | None:
    """The highest version that the stack or its assets ask for."""
    needs = [
        Bootstrap(str(each["bootstrapStackVersionSsmParameter"]), int(each.get("requiresBootstrapStackVersion") or 1))
        for each in wanted
        if each.get("bootstrapStackVersionSsmParameter")
    ]
    return max(needs, key=lambda need: need.version, default=None)


def _resources(template: Path, depth: int = 0) -> Iterator[Resource]:
    for logical_id, resource in _object(_read(template).get("Resources", {}), template).items():
        yield Resource(logical_id, str(resource.get("Type")), _object(resource.get("Properties") or {}, template))
        nested = resource.get("Metadata", {}).get("aws:asset:path")
        if resource.get("Type") == "AWS::CloudFormation::Stack" and nested and depth < _DEEPEST:
            yield from _resources(template.parent / nested, depth + 1)


def _uploads(manifest: Path) -> Iterator[tuple[Asset, list[str]]]:
    """Each asset, and the roles that the CLI assumes to upload it."""
    document = _read(manifest)
    for name, file in {**document.get("files", {}), **document.get("dockerImages", {})}.items():
        source = file.get("source", {})
        path = source.get("path") or source.get("directory")
        roles = [
            str(target["assumeRoleArn"])
            for target in file.get("destinations", {}).values()
            if "assumeRoleArn" in target
        ]
        yield Asset(str(file.get("displayName", name)), manifest.parent / path if path else None), roles


def _errors(artifact: Mapping[str, Any], folder: Path) -> Iterator[str]:
    metadata = dict(artifact.get("metadata", {}))
    if artifact.get("additionalMetadataFile"):
        metadata |= _read(folder / artifact["additionalMetadataFile"])
    for entries in metadata.values():
        for entry in entries:
            if entry.get("type") == "aws:cdk:error":
                yield str(entry.get("data"))


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _read(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise AssemblyUnreadable(
            f"{path} is not there: name the folder that `cdk synth` wrote, or write it anew"
        ) from error
    except (OSError, ValueError) as error:
        raise AssemblyUnreadable(f"{path} cannot be read ({error}): write it anew with `cdk synth`") from error
    return _object(document, path)


def _object(document: object, path: Path) -> dict[str, Any]:
    if not isinstance(document, dict):
        raise AssemblyUnreadable(f"{path} is of no cloud assembly: write it anew with `cdk synth`")
    return document
