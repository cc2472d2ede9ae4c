"""Custom resource behind the CDK's Provider framework: builds a package unless it exists, and waits for it.

The framework answers CloudFormation: what these functions raise becomes the reason of the failure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from build import BuildFailed, is_running, start_build
from request import read_request
from result import find_result

if TYPE_CHECKING:
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client

# A throttled look at a build must not fail the deploy that waits for it.
_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 8})


def on_event(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Return the finished result, or start the build that makes it."""
    return begin(event, boto3.client("s3", config=_CONFIG), boto3.client("codebuild", config=_CONFIG))


def is_complete(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Say whether the build is done; called again and again until it is."""
    return look(
        event,
        boto3.client("s3", config=_CONFIG),
        boto3.client("codebuild", config=_CONFIG),
        boto3.client("logs", config=_CONFIG),
    )


def begin(event: Mapping[str, Any], s3: S3Client, codebuild: CodeBuildClient) -> dict[str, Any]:
    """`on_event` with its clients.

    Deleting always succeeds: packages are kept, and a build that still runs can only add one.
    """
    if event["RequestType"] == "Delete":
        return {"PhysicalResourceId": event.get("PhysicalResourceId", "build-run/not-created")}
    request = read_request(event["ResourceProperties"])
    result = find_result(request, s3)
    if result is not None:
        return {"PhysicalResourceId": request.physical_id, "Data": result.attributes(build_id="")}
    build_id = start_build(request, event["RequestId"], codebuild)
    return {"PhysicalResourceId": request.physical_id, "Data": {"BuildId": build_id}}


def look(
    event: Mapping[str, Any], s3: S3Client, codebuild: CodeBuildClient, logs: CloudWatchLogsClient
) -> dict[str, Any]:
    """`is_complete` with its clients; `event` holds what `on_event` returned."""
    if event["RequestType"] == "Delete":
        return {"IsComplete": True}
    build_id = event["Data"]["BuildId"]
    if not build_id:
        return {"IsComplete": True}
    if is_running(build_id, codebuild, logs):
        return {"IsComplete": False}
    request = read_request(event["ResourceProperties"])
    result = find_result(request, s3)
    if result is None:
        raise BuildFailed(
            f"build {build_id} succeeded but wrote no {request.result_uri}: "
            "does its buildspec package the model that the template pins?"
        )
    return {"IsComplete": True, "Data": result.attributes(build_id)}
