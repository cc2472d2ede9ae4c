"""A model that the CDK uploaded from the machine that deploys."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decision_client.packaging.errors import PackagingRefused
from decision_provenance.manifest import PackagedFile
from decision_provenance.s3_object import pin_object, read_chunks

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class LocalSource:
    """An asset: `bucket` and `key` are where the CDK put it, `file` is the name it had."""

    bucket: str
    key: str
    file: str

    def describe(self) -> dict[str, str]:
        """What the manifest says of the source: nothing that differs between accounts."""
        return {"kind": "local", "file": self.file}

    def read(self, file: PackagedFile, s3: S3Client) -> Generator[bytes, None, None]:
        """The bytes of `file`, a MiB at a time.

        Raises
        ------
        PackagingRefused
            If this source does not have it, or has another length.
        """
        if file.name != self.file:
            raise PackagingRefused(
                f"the pin lists {file.name}, the local source is {self.file}: pin the file that is given"
            )
        pinned = pin_object(s3, self.bucket, self.key)
        if pinned is None:
            raise PackagingRefused(f"s3://{self.bucket}/{self.key}, the upload of {self.file}, is gone: deploy again")
        if pinned.bytes != file.bytes:
            raise PackagingRefused(
                f"{file.name} has {pinned.bytes} bytes, the pin says {file.bytes}: "
                "correct the pin, or give the file it names"
            )
        return read_chunks(s3, pinned)
