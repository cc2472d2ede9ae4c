"""What the template asks to be verified."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from decision_provenance.manifest import PackagedFile, package_digest, read_pin


@dataclass(frozen=True)
class VerifyRequest:
    """A key prefix of a bucket, and the files it must hold, in shard order.

    `archive` names the one object that the files lie in, and `record_key` the object that remembers what was read; both
    are None where the template has none.
    """

    bucket: str
    prefix: str
    files: tuple[PackagedFile, ...]
    archive: str | None = None
    record_key: str | None = None

    @property
    def digest(self) -> str:
        """The package digest that the pin makes."""
        return package_digest(self.files)

    @property
    def uri(self) -> str:
        """`s3://bucket/prefix/`."""
        return f"s3://{self.bucket}/{self.prefix}"

    @property
    def names(self) -> list[str]:
        """What must lie under the prefix."""
        return [self.archive] if self.archive else [file.name for file in self.files]


def read_request(properties: Mapping[str, object]) -> VerifyRequest:
    """Read `ResourceProperties`; ValueError names the property that is wrong."""
    bucket, prefix, files = (properties.get(name) for name in ("Bucket", "Prefix", "Files"))
    if not isinstance(bucket, str) or not bucket:
        raise ValueError(f"property Bucket is {bucket!r:.100}: give the name of the bucket that holds the package")
    if not isinstance(prefix, str) or not prefix.endswith("/"):
        raise ValueError(f"property Prefix is {prefix!r:.200}: give the package's key prefix, ending in '/'")
    if not isinstance(files, str):
        raise ValueError(  # noqa: TRY004 - a malformed property, not a wrong call
            f"property Files is {files!r:.100}: give the pin as JSON text"
        )
    return VerifyRequest(
        bucket, prefix, read_pin(files), _optional(properties, "Archive"), _optional(properties, "RecordKey")
    )


def _optional(properties: Mapping[str, object], name: str) -> str | None:
    value = properties.get(name)
    if value is not None and (not isinstance(value, str) or not value):
        raise ValueError(f"property {name} is {value!r:.200}: give a text of at least one character, or leave it out")
    return value
