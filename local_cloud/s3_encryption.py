"""Bucket encryption as S3 has it: a template's `BucketEncryption` is kept, and `aws:kms` without a key means `aws/s3`.

The emulator drops the property, and refuses an upload with `aws:kms` that names no key, which is how the CDK CLI
uploads to a bucket encrypted with the managed key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from xml.etree.ElementTree import Element, SubElement, tostring

from ministack.services import s3  # type: ignore[import-untyped]
from ministack.services.cloudformation import provisioners  # type: ignore[import-untyped]

from local_cloud.ministack_seams import account_id, region

_ALGORITHM = "x-amz-server-side-encryption"
_KEY = "x-amz-server-side-encryption-aws-kms-key-id"


def install() -> None:
    """Apply `BucketEncryption` of `AWS::S3::Bucket`, and give uploads the managed key where they name none."""
    provisioners._S3_BUCKET_CONFIGURATIONS = (
        *provisioners._S3_BUCKET_CONFIGURATIONS,
        ("BucketEncryption", _as_xml, _put, s3._delete_bucket_encryption),
    )
    resolve = s3._resolve_sse_write_headers

    def resolve_with_managed_key(headers: Mapping[str, str], bucket: str) -> object:
        if headers.get(_ALGORITHM) == "aws:kms" and not headers.get(_KEY):
            headers = {**headers, _KEY: f"arn:aws:kms:{region()}:{account_id()}:alias/aws/s3"}
        return resolve(headers, bucket)

    s3._resolve_sse_write_headers = resolve_with_managed_key


def _put(bucket: str, body: bytes) -> None:
    status, _headers, answer = s3._put_bucket_encryption(bucket, body)
    if status >= 400:
        raise ValueError(f"AWS::S3::Bucket BucketEncryption was refused: {answer.decode()}")


def _as_xml(encryption: Mapping[str, Any]) -> bytes:
    """The property as the body of PutBucketEncryption, which spells the rule's member in another way."""
    root = Element("ServerSideEncryptionConfiguration", xmlns=s3.S3_NS)
    for rule in encryption.get("ServerSideEncryptionConfiguration", []):
        element = SubElement(root, "Rule")
        by_default = SubElement(element, "ApplyServerSideEncryptionByDefault")
        for name, value in rule.get("ServerSideEncryptionByDefault", {}).items():
            SubElement(by_default, name).text = str(value)
        if "BucketKeyEnabled" in rule:
            SubElement(element, "BucketKeyEnabled").text = str(rule["BucketKeyEnabled"]).lower()
    return bytes(tostring(root, encoding="utf-8"))
