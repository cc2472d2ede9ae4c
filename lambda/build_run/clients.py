"""The services that a build run talks to."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

import boto3
from botocore.config import Config
from image_result import EcrClient

if TYPE_CHECKING:
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client

# A throttled look at a build must not fail the deploy that waits for it.
_CONFIG = Config(connect_timeout=5, read_timeout=20, retries={"mode": "standard", "total_max_attempts": 8})


class Clients:
    """boto3 clients, each made when it is first asked for: a call of the function uses two of the four at most."""

    @cached_property
    def codebuild(self) -> CodeBuildClient:
        """Starts builds and looks at them."""
        return boto3.client("codebuild", config=_CONFIG)

    @cached_property
    def logs(self) -> CloudWatchLogsClient:
        """Holds what a failed build said last."""
        return boto3.client("logs", config=_CONFIG)

    @cached_property
    def s3(self) -> S3Client:
        """Holds packages."""
        return boto3.client("s3", config=_CONFIG)

    @cached_property
    def ecr(self) -> EcrClient:
        """Holds images."""
        return cast("EcrClient", boto3.client("ecr", config=_CONFIG))
