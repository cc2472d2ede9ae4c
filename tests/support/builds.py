"""Throw-away projects and builds of a local cloud's CodeBuild."""

from __future__ import annotations

import io
import json
import uuid
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from local_cloud.running_cloud import RunningCloud
from tests.support.aws_clients import ClientFactory
from tests.support.waiting import eventually

BUCKET = "builds"


@dataclass(frozen=True)
class Builds:
    """Starts builds of throw-away projects."""

    cloud: RunningCloud
    client: ClientFactory

    def project(self, buildspec: Any, **members: Any) -> str:
        """Make a project with this buildspec and return its name."""
        name = f"project-{uuid.uuid4().hex[:8]}"
        text = buildspec if isinstance(buildspec, str) else json.dumps(buildspec)
        self.client("codebuild").create_project(
            **{
                "name": name,
                "source": {"type": "NO_SOURCE", "buildspec": text},
                "artifacts": {"type": "NO_ARTIFACTS"},
                "serviceRole": "arn:aws:iam::123456789012:role/build",
                "environment": {"type": "LINUX_CONTAINER", "image": "aws/x", "computeType": "BUILD_GENERAL1_SMALL"},
                **members,
            }
        )
        return name

    def start(self, project: str, **overrides: Any) -> Any:
        """Start a build and return its record."""
        return self.client("codebuild").start_build(projectName=project, **overrides)["build"]

    def get(self, build_id: str) -> Any:
        """The record of a build now."""
        return self.client("codebuild").batch_get_builds(ids=[build_id])["builds"][0]

    def ended(self, build_id: str) -> Any:
        """The record of a build once it has ended."""
        return eventually(
            lambda: build if (build := self.get(build_id))["buildStatus"] != "IN_PROGRESS" else None,
            "the build's end",
        )

    def run(self, buildspec: Any, *, overrides: Mapping[str, Any] | None = None, **members: Any) -> Any:
        """Run a build of a project of its own to its end."""
        return self.ended(self.start(self.project(buildspec, **members), **(overrides or {}))["id"])

    def s3_source(self, content: bytes) -> dict[str, str]:
        """A source of type S3 with this archive."""
        key = f"{uuid.uuid4().hex}.zip"
        self.client("s3").put_object(Bucket=BUCKET, Key=key, Body=content)
        return {"type": "S3", "location": f"{BUCKET}/{key}"}

    def log(self, build: Any) -> list[str]:
        """What the commands and CodeBuild said, as CloudWatch Logs has it."""
        events = self.client("logs").get_log_events(
            logGroupName=build["logs"]["groupName"], logStreamName=build["logs"]["streamName"], startFromHead=True
        )
        return [event["message"] for event in events["events"]]


def commands(*lines: str, **phase: Any) -> dict[str, Any]:
    """A buildspec that runs these in its phase BUILD."""
    return {"version": "0.2", "phases": {"build": {"commands": list(lines), **phase}}}


def phase_of(build: Any, name: str) -> Any:
    """One phase of a build's record."""
    return next(phase for phase in build["phases"] if phase["phaseType"] == name)


def failure_of(build: Any) -> str:
    """Why the first phase that failed did."""
    failed = next(phase for phase in build["phases"] if phase.get("phaseStatus") not in ("SUCCEEDED", None))
    return f"{failed['contexts'][0]['statusCode']}: {failed['contexts'][0]['message']}"


def archive(files: Mapping[str, str], *, executable: str = "") -> bytes:
    """A zip of these files."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if name == executable else 0o100644) << 16
            packed.writestr(entry, text)
    return content.getvalue()
