"""Synthesized folders for tests of the gate, written by hand: no CDK, so they cost nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Resources = dict[str, dict[str, Any]]


def write_assembly(folder: Path, stacks: dict[str, Resources]) -> Path:
    """An assembly with these stacks, ``dev/Artifacts`` and so on, in the layout that the CDK has."""
    artifacts: dict[str, Any] = {}
    for path, resources in stacks.items():
        environment, _, _ = path.partition("/")
        nested = f"assembly-{environment}"
        name = path.replace("/", "")
        _write(folder / nested / f"{name}.template.json", {"Resources": resources})
        _write(
            folder / nested / f"{name}.metadata.json",
            {f"/{path}/{id}/Resource": [{"type": "aws:cdk:logicalId", "data": id}] for id in resources},
        )
        artifacts.setdefault(nested, {})[name] = {
            "type": "aws:cloudformation:stack",
            "environment": "aws://unknown-account/eu-west-1",
            "displayName": path,
            "additionalMetadataFile": f"{name}.metadata.json",
            "properties": {"templateFile": f"{name}.template.json", "stackName": path.replace("/", "-")},
        }
    for nested, stacks_of_one in artifacts.items():
        _write(folder / nested / "manifest.json", {"artifacts": stacks_of_one})
    _write(
        folder / "manifest.json",
        {
            "artifacts": {
                nested: {"type": "cdk:cloud-assembly", "properties": {"directoryName": nested}} for nested in artifacts
            }
        },
    )
    return folder


def _write(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1))
