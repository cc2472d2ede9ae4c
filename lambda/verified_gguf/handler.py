"""Custom resource: lets a stack go on only when the stored model is, byte for byte, the pinned one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from deadline import Deadline, LambdaContext
from request import read_request
from response import failure, send, success
from verification import verify

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_NOT_CREATED = "verified-gguf/not-created"


def handler(event: Mapping[str, Any], context: LambdaContext) -> None:
    """Answer one request of CloudFormation."""
    answer = answer_to(event, context, _s3())
    print(answer.decode())
    send(event["ResponseURL"], answer)


def answer_to(event: Mapping[str, Any], context: LambdaContext, s3: S3Client) -> bytes:
    """The answer to one request, whatever happens; nothing is sent.

    Deleting always succeeds: there is nothing to delete. The physical id names the package, so that an update with
    the same properties keeps it.
    """
    physical_id = str(event.get("PhysicalResourceId") or _NOT_CREATED)
    if event["RequestType"] == "Delete":
        return success(event, physical_id, {})
    try:
        request = read_request(event["ResourceProperties"])
        physical_id = f"verified-gguf/{request.digest[:16]}"
        deadline = Deadline(context)
        verified = deadline.run(lambda: verify(request, s3, deadline.check))
        return success(event, physical_id, verified.attributes())
    except Exception as error:  # noqa: BLE001 - whatever it is, CloudFormation must hear of it now and not in an hour
        return failure(event, physical_id, str(error) or type(error).__name__)


def _s3() -> S3Client:
    # The digest is computed here, so a checksum computed by the SDK as well would only take time.
    config = Config(
        connect_timeout=5,
        read_timeout=20,
        retries={"mode": "standard", "total_max_attempts": 5},
        response_checksum_validation="when_required",
    )
    return boto3.client("s3", config=config)
