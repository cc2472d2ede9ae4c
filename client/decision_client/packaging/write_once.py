"""Writing objects that must never be overwritten.

The bucket denies a write without `If-None-Match: *`, and so every write here has it: whoever comes second finds what is
there, and goes on only if its bytes are the same.

Source: Amazon S3 user guide, "Conditional writes"; "Multipart upload limits" (10,000 parts; 5 GB in a single PUT).
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from decision_client.packaging.errors import PackagingRefused
from decision_provenance.digest import hash_chunks
from decision_provenance.manifest import PackagedFile
from decision_provenance.s3_object import PinnedObject, pin_object, read_chunks

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

SINGLE_PUT_LIMIT_BYTES = 5_000_000_000
"""Up to here one PUT is used: S3 then keeps a SHA-256 of the whole object, which it does not for a multipart upload."""

PART_BYTES = 128 << 20
"""Held in memory while it is sent; 10,000 parts make 1.3 TB."""

_LOST_RACE = (409, 412)


class _ReportingFile(io.FileIO):
    """A file that tells how far it has been read."""

    def __init__(self, path: Path, report: Callable[[int], None]) -> None:
        super().__init__(path, "rb")
        self._report = report

    def read(self, size: int | None = -1, /) -> Any:
        chunk = super().read(-1 if size is None else size)
        self._report(self.tell())
        return chunk


def upload_once(
    s3: S3Client, path: Path, file: PackagedFile, *, bucket: str, key: str, report: Callable[[int], None]
) -> None:
    """Put a file, which the caller has hashed, under a key that nobody writes again.

    Parameters
    ----------
    s3:
        A boto3 client.
    path, file:
        The file, and what is known of its bytes.
    bucket, key:
        Where it goes.
    report:
        Called with the number of bytes sent so far.

    Raises
    ------
    PackagingRefused
        If other bytes are there, or S3 does not take it. Nothing partial is left behind.
    """
    existing = pin_object(s3, bucket, key)
    if existing is None:
        send = _put_whole if file.bytes <= SINGLE_PUT_LIMIT_BYTES else _put_parts
        existing = _create(s3, bucket, key, lambda: send(s3, path, file, bucket, key, report))
    if existing is not None:
        _refuse_other_bytes(s3, existing, file.sha256)


def write_once(s3: S3Client, content: bytes, *, bucket: str, key: str) -> None:
    """Put a small object under a key that nobody writes again; an existing one is left for the caller to compare."""

    def put() -> None:
        s3.put_object(Bucket=bucket, Key=key, Body=content, ContentType="application/json", IfNoneMatch="*")

    existing = _create(s3, bucket, key, put)
    if existing is not None:
        _refuse_other_bytes(s3, existing, hashlib.sha256(content).hexdigest())


def _create(s3: S3Client, bucket: str, key: str, put: Callable[[], None]) -> PinnedObject | None:
    """None if `put` made the object; the object that another writer made first otherwise."""
    try:
        put()
    except ClientError as error:
        if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") not in _LOST_RACE:
            raise PackagingRefused(
                f"s3://{bucket}/{key} could not be written ({error}): does this role have s3:PutObject and "
                "s3:AbortMultipartUpload on it, and the use of its key?"
            ) from error
        existing = pin_object(s3, bucket, key)
        if existing is None:
            raise PackagingRefused(
                f"s3://{bucket}/{key} is being written by someone else ({error}): try again"
            ) from error
        return existing
    except BotoCoreError as error:
        raise PackagingRefused(f"s3://{bucket}/{key} could not be written ({error}): try again") from error
    return None


def _refuse_other_bytes(s3: S3Client, existing: PinnedObject, sha256: str) -> None:
    """Metadata and S3's checksums are what some writer said; only the bytes themselves are believed."""
    found = hash_chunks(read_chunks(s3, existing)).sha256
    if found != sha256:
        raise PackagingRefused(
            f"{existing.uri} is there already and has SHA-256 {found}, this package has {sha256}: "
            "find out who wrote it, delete the prefix, then deploy again"
        )


def _put_whole(
    s3: S3Client, path: Path, file: PackagedFile, bucket: str, key: str, report: Callable[[int], None]
) -> None:
    with _ReportingFile(path, report) as body:
        s3.put_object(
            Bucket=bucket,
            Key=key,
            Body=body,
            ContentLength=file.bytes,
            ChecksumSHA256=base64.b64encode(bytes.fromhex(file.sha256)).decode(),
            IfNoneMatch="*",
        )


def _put_parts(
    s3: S3Client, path: Path, file: PackagedFile, bucket: str, key: str, report: Callable[[int], None]
) -> None:
    upload = s3.create_multipart_upload(Bucket=bucket, Key=key, ChecksumAlgorithm="CRC32")
    upload_id = upload["UploadId"]
    try:
        parts: list[CompletedPartTypeDef] = []
        with path.open("rb") as body:
            while chunk := body.read(PART_BYTES):
                number = len(parts) + 1
                part = s3.upload_part(
                    Bucket=bucket,
                    Key=key,
                    UploadId=upload_id,
                    PartNumber=number,
                    Body=chunk,
                    ChecksumAlgorithm="CRC32",
                )
                parts.append({"PartNumber": number, "ETag": part["ETag"], "ChecksumCRC32": part["ChecksumCRC32"]})
                report(body.tell())
        s3.complete_multipart_upload(
            Bucket=bucket, Key=key, UploadId=upload_id, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
        )
    except BaseException:
        # Also when the build is stopped: parts of an upload that never completes cost money and are seen by nobody.
        s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
        raise
