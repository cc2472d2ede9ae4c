"""A model in a bucket, or uploaded into one by the CDK from the machine that deploys."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decision_client.packaging.errors import PackagingRefused
from decision_provenance.manifest import PackagedFile
from decision_provenance.s3_object import pin_object, read_chunks

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class S3Source:
    """The files are in `bucket`, under `prefix`."""

    bucket: str
    prefix: str

    def describe(self) -> dict[str, str]:
        """What the manifest says of the source."""
        return {"kind": "s3", "bucket": self.bucket, "prefix": self.prefix}

    def read(
        self,
        file: PackagedFile,
        s3: S3Client,
        say: Callable[[str], None],
    ) -> Generator[bytes, None, None]:
        """The bytes of `file`, a MiB at a time.

        Raises
        ------
        PackagingRefused
            If it is not there, or has another length.
        """
        key = self.prefix + file.name
        gone = f"s3://{self.bucket}/{key} is not there: correct the pin, or put the file there"
        return _read(file, s3, self.bucket, key, gone)


@dataclass(frozen=True)
class LocalSource:
    """An asset for each file: `keys` says where in `bucket` the CDK put it."""

    bucket: str
    keys: Mapping[str, str]

    def describe(self) -> dict[str, str]:
        """What the manifest says of the source: nothing that differs between accounts."""
        return {"kind": "local"}

    def read(
        self,
        file: PackagedFile,
        s3: S3Client,
        say: Callable[[str], None],
    ) -> Generator[bytes, None, None]:
        """The bytes of `file`, a MiB at a time.

        Raises
        ------
        PackagingRefused
            If this source does not have it, or has another length.
        """
        key = self.keys.get(file.name)
        if key is None:
            given = ", ".join(sorted(self.keys)[:10])
            raise PackagingRefused(
                f"the pin lists {file.name}, the local source is {given}: pin the files that are given"
            )
        gone = f"s3://{self.bucket}/{key}, the upload of {file.name}, is gone: deploy again"
        return _read(file, s3, self.bucket, key, gone)


def _read(file: PackagedFile, s3: S3Client, bucket: str, key: str, gone: str) -> Generator[bytes, None, None]:
    pinned = pin_object(s3, bucket, key)
    if pinned is None:
        raise PackagingRefused(gone)
    if pinned.bytes != file.bytes:
        raise PackagingRefused(
            f"{file.name} has {pinned.bytes} bytes, the pin says {file.bytes}: "
            "correct the pin, or give the file it names"
        )
    return read_chunks(s3, pinned)
