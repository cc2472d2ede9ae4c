"""`Custom::S3AutoDeleteObjects`, with which the CDK empties buckets before they go, without its Lambda.

That Lambda is JavaScript and lives off the AWS SDK that AWS's own runtime carries; this machine has none.
"""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from local_cloud import loopback
from local_cloud.ministack_seams import Attributes, Properties, ResourceType, register_resource

_TYPE = "Custom::S3AutoDeleteObjects"
_CONSENT = {"Key": "aws-cdk:auto-delete-objects", "Value": "true"}
"""The tag that the CDK gives a bucket which may be emptied; a deploy that removes it first saves the objects."""


def install() -> None:
    """Teach CloudFormation the type."""
    register_resource(_TYPE, ResourceType(_create, _update, _delete))


def _create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    return str(properties["BucketName"]), {}


def _update(physical_id: str, old: Properties, new: Properties, stack_name: str) -> tuple[str, Attributes]:
    # Another bucket is another physical id: the old one is emptied when the replaced resource is deleted.
    return str(new["BucketName"]), {}


def _delete(physical_id: str, properties: Properties) -> None:
    s3 = loopback.client("s3")
    try:
        if _CONSENT in s3.get_bucket_tagging(Bucket=physical_id)["TagSet"]:
            _empty(s3, physical_id)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("NoSuchBucket", "NoSuchTagSet"):
            raise


def _empty(s3: Any, bucket: str) -> None:
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        entries = [*page.get("Versions", []), *page.get("DeleteMarkers", [])]
        objects = [{"Key": entry["Key"], "VersionId": entry["VersionId"]} for entry in entries]
        if objects:
            s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
