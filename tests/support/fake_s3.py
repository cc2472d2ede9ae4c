"""S3 in memory, as far as it is used: versions, conditions, multipart uploads, and ways to go wrong on purpose."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class Stored:
    """One version of an object."""

    content: bytes
    version_id: str
    arguments: dict[str, Any] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        """As S3 makes it for a single PUT."""
        return f'"{hashlib.md5(self.content, usedforsecurity=False).hexdigest()}"'


class _Exceptions:
    ClientError = ClientError


class _Body(io.BytesIO):
    def __init__(self, content: bytes, on_read: Callable[[], None] | None) -> None:
        super().__init__(content)
        self._on_read = on_read

    def read(self, size: int | None = -1, /) -> bytes:
        if self._on_read is not None:
            self._on_read()
        return super().read(size)


class FakeS3:
    """A client of one bucket.

    `on_read` runs before each read of a body, `on_open` after an object was looked at and before it is opened;
    `lost_bytes` are missing at the end of every body; `refused` maps an operation to the error it answers, and
    `broken_call` is the number, from 1, of a call that S3 does not answer.
    """

    exceptions = _Exceptions

    def __init__(self, *, versioned: bool = True) -> None:
        self.versioned = versioned
        self.versions: dict[str, list[Stored]] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.on_read: Callable[[], None] | None = None
        self.on_open: Callable[[], None] | None = None
        self.lost_bytes = 0
        self.refused: dict[str, ClientError] = {}
        self.broken_call = 0
        self.head_extras: dict[str, Any] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    @property
    def client(self) -> S3Client:
        """This, as code under test takes it."""
        return cast("S3Client", self)

    def put(self, key: str, content: bytes) -> None:
        """Store an object, whatever was there."""
        versions = self.versions.setdefault(key, [])
        version_id = f"version-{len(versions) + 1}" if self.versioned else "null"
        versions.append(Stored(content, version_id))

    def get(self, key: str) -> bytes:
        """The current content of an object."""
        return self.versions[key][-1].content

    def keys(self) -> list[str]:
        """All keys, sorted."""
        return sorted(self.versions)

    def named(self, operation: str) -> list[dict[str, Any]]:
        """The arguments of every call of one operation."""
        return [arguments for name, arguments in self.calls if name == operation]

    def head_object(self, **arguments: Any) -> dict[str, Any]:
        self._note("HeadObject", arguments)
        found = self._current(arguments, "HeadObject")
        return {"ContentLength": len(found.content), **self._described(found), **self.head_extras}

    def get_object(self, **arguments: Any) -> dict[str, Any]:
        self._note("GetObject", arguments)
        if self.on_open is not None:
            self.on_open()
        found = self._current(arguments, "GetObject")
        if arguments.get("IfMatch", found.etag) != found.etag:
            raise client_error("GetObject", 412, "PreconditionFailed")
        kept = found.content[: len(found.content) - self.lost_bytes]
        return {"Body": _Body(kept, self.on_read), "ContentLength": len(found.content), **self._described(found)}

    def list_objects_v2(self, **arguments: Any) -> dict[str, Any]:
        self._note("ListObjectsV2", arguments)
        keys = [key for key in self.keys() if key.startswith(arguments["Prefix"])]
        limit = arguments.get("MaxKeys", 1000)
        return {"Contents": [{"Key": key} for key in keys[:limit]], "IsTruncated": len(keys) > limit}

    def put_object(self, **arguments: Any) -> dict[str, Any]:
        self._note("PutObject", arguments)
        body = arguments["Body"]
        content = body if isinstance(body, bytes) else body.read()
        self._create(arguments, content, "PutObject")
        return {}

    def create_multipart_upload(self, **arguments: Any) -> dict[str, Any]:
        self._note("CreateMultipartUpload", arguments)
        upload_id = f"upload-{len(self.uploads) + 1}"
        self.uploads[upload_id] = {}
        return {"UploadId": upload_id}

    def upload_part(self, **arguments: Any) -> dict[str, Any]:
        self._note("UploadPart", arguments)
        self.uploads[arguments["UploadId"]][arguments["PartNumber"]] = arguments["Body"]
        return {"ETag": f'"{arguments["PartNumber"]}"', "ChecksumCRC32": "AAAAAA=="}

    def complete_multipart_upload(self, **arguments: Any) -> dict[str, Any]:
        self._note("CompleteMultipartUpload", arguments)
        parts = self.uploads[arguments["UploadId"]]
        numbers = [part["PartNumber"] for part in arguments["MultipartUpload"]["Parts"]]
        self._create(arguments, b"".join(parts[number] for number in numbers), "CompleteMultipartUpload")
        del self.uploads[arguments["UploadId"]]
        return {}

    def abort_multipart_upload(self, **arguments: Any) -> dict[str, Any]:
        self._note("AbortMultipartUpload", arguments)
        del self.uploads[arguments["UploadId"]]
        return {}

    def _note(self, operation: str, arguments: dict[str, Any]) -> None:
        self.calls.append((operation, arguments))
        if len(self.calls) == self.broken_call:
            raise ConnectionError(f"{operation} was not answered")
        if operation in self.refused:
            raise self.refused[operation]

    def _current(self, arguments: dict[str, Any], operation: str) -> Stored:
        versions = self.versions.get(arguments["Key"], [])
        wanted = arguments.get("VersionId")
        for stored in reversed(versions):
            if wanted in (None, stored.version_id):
                return stored
        raise client_error(operation, 404, "NoSuchKey")

    def _described(self, stored: Stored) -> dict[str, Any]:
        return {"ETag": stored.etag, **({"VersionId": stored.version_id} if self.versioned else {})}

    def _create(self, arguments: dict[str, Any], content: bytes, operation: str) -> None:
        """As the bucket policy of the model prefixes wants it: nothing is written there without the condition."""
        conditional = arguments.get("IfNoneMatch") == "*"
        if arguments["Key"].startswith("models/") and not conditional:
            raise client_error(operation, 403, "AccessDenied")
        if conditional and arguments["Key"] in self.versions:
            raise client_error(operation, 412, "PreconditionFailed")
        self.put(arguments["Key"], content)


def client_error(operation: str, status: int, code: str) -> ClientError:
    """The error that boto3 raises for an answer of S3."""
    return ClientError(
        {"Error": {"Code": code, "Message": code}, "ResponseMetadata": {"HTTPStatusCode": status}},  # type: ignore[typeddict-item]
        operation,
    )
