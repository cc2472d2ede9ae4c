"""One S3 object whose bytes cannot change while they are read.

S3's own checksums are never taken for a digest here: an ETag is none, and a COMPOSITE SHA-256 is a hash of part hashes.
The client is the caller's boto3 client, so that this package needs nothing but the standard library.

Source: Amazon S3 user guide, "Checking object integrity" and "Conditional reads".
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from decision_provenance.digest import CHUNK_BYTES

if TYPE_CHECKING:
    from botocore.response import StreamingBody
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import GetObjectOutputTypeDef


class ObjectRefused(ValueError):
    """An object is missing, may not be read, changed, or ended early; the text names it and says what to do."""


@dataclass(frozen=True)
class PinnedObject:
    """An object as it was when it was first looked at; every read asks for exactly this version of it."""

    bucket: str
    key: str
    bytes: int
    etag: str
    version_id: str | None

    @property
    def uri(self) -> str:
        """`s3://bucket/key`."""
        return f"s3://{self.bucket}/{self.key}"


def pin_object(s3: S3Client, bucket: str, key: str) -> PinnedObject | None:
    """Look at an object and remember its version and ETag; None if there is none.

    Parameters
    ----------
    s3:
        A boto3 client. Without `s3:ListBucket` on the bucket S3 answers 403 for a key that does not exist.

    Raises
    ------
    ObjectRefused
        If S3 answers with anything but the object or "not found".
    """
    try:
        found = s3.head_object(Bucket=bucket, Key=key)
    except s3.exceptions.ClientError as error:
        if _status(error.response) == 404:
            return None
        raise ObjectRefused(_refusal(f"s3://{bucket}/{key}", error.response)) from error
    return PinnedObject(bucket, key, found["ContentLength"], found["ETag"], found.get("VersionId"))


def read_chunks(
    s3: S3Client, pinned: PinnedObject, *, before_chunk: Callable[[int], None] | None = None
) -> Generator[bytes, None, None]:
    """The object's bytes, a MiB at a time.

    Parameters
    ----------
    s3:
        A boto3 client. A version is asked for by its id where there is one, which takes `s3:GetObjectVersion`.
    pinned:
        The version to read.
    before_chunk:
        Called with the number of bytes read so far before each read; what it raises ends the reading. Default: nothing.

    Raises
    ------
    ObjectRefused
        If the object changed since it was pinned, or fewer or more bytes came than it has.
    """
    yield from _chunks(_open(s3, pinned)["Body"], pinned, before_chunk)


def _chunks(
    body: StreamingBody, pinned: PinnedObject, before_chunk: Callable[[int], None] | None
) -> Generator[bytes, None, None]:
    done = 0
    try:
        while True:
            if before_chunk is not None:
                before_chunk(done)
            chunk = _read(body, pinned, done)
            if not chunk:
                break
            done += len(chunk)
            yield chunk
    finally:
        body.close()
    if done != pinned.bytes:
        raise ObjectRefused(f"{pinned.uri} ended after {done} of its {pinned.bytes} bytes: try again")


def read_small(s3: S3Client, bucket: str, key: str, *, limit: int) -> bytes | None:
    """A small object whole, in one request, which cannot mix two versions; None if there is none.

    Raises
    ------
    ObjectRefused
        If it has more than `limit` bytes, or S3 does not give all of it.
    """
    uri = f"s3://{bucket}/{key}"
    try:
        found = s3.get_object(Bucket=bucket, Key=key)
    except s3.exceptions.ClientError as error:
        if _status(error.response) == 404:
            return None
        raise ObjectRefused(_refusal(uri, error.response)) from error
    pinned = PinnedObject(bucket, key, found["ContentLength"], found["ETag"], found.get("VersionId"))
    if pinned.bytes > limit:
        found["Body"].close()
        raise ObjectRefused(
            f"{uri} has {pinned.bytes} bytes, at most {limit} are read: find out what it is, then delete it"
        )
    return b"".join(_chunks(found["Body"], pinned, None))


class ObjectStream:
    """An object's bytes as a stream that only moves forward, for a reader that stops early, as that of a header."""

    def __init__(self, s3: S3Client, pinned: PinnedObject) -> None:
        self._pinned = pinned
        self._body = _open(s3, pinned)["Body"]
        self._done = 0

    def __enter__(self) -> BinaryIO:
        return cast("BinaryIO", self)

    def __exit__(self, *_: object) -> None:
        self._body.close()

    def read(self, count: int) -> bytes:
        """At most `count` bytes; none at the end."""
        chunk = _read(self._body, self._pinned, self._done, count)
        self._done += len(chunk)
        return chunk


def _open(s3: S3Client, pinned: PinnedObject) -> GetObjectOutputTypeDef:
    version = {"VersionId": pinned.version_id} if pinned.version_id else {}
    try:
        return s3.get_object(Bucket=pinned.bucket, Key=pinned.key, IfMatch=pinned.etag, **version)  # type: ignore[arg-type]
    except s3.exceptions.ClientError as error:
        if _status(error.response) in (404, 412):
            raise ObjectRefused(
                f"{pinned.uri} changed while it was read (it no longer has ETag {pinned.etag}): "
                "find out who writes there, then try again"
            ) from error
        raise ObjectRefused(_refusal(pinned.uri, error.response)) from error


def _read(body: StreamingBody, pinned: PinnedObject, done: int, count: int = CHUNK_BYTES) -> bytes:
    try:
        return body.read(count)
    # The HTTP stack's own errors differ by SDK version; each means that bytes did not arrive.
    except Exception as error:
        raise ObjectRefused(
            f"{pinned.uri} could not be read on after {done} of its {pinned.bytes} bytes ({error}): try again"
        ) from error


def _status(response: Any) -> int:
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _refusal(uri: str, response: Any) -> str:
    error = response.get("Error", {})
    code = error.get("Code", "")
    if _status(response) == 403:
        needed = "s3:GetObject and s3:GetObjectVersion on it, s3:ListBucket on its bucket, kms:Decrypt with its key"
        also = "without s3:ListBucket S3 says so of a missing object too"
        return f"{uri} may not be read ({code}): this role needs {needed}; {also}"
    return f"{uri} could not be read ({code}: {error.get('Message', '')}): try again"
