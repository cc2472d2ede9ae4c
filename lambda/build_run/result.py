"""The finished result of a packaging build: a manifest under the key that the template expects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from request import BuildRequest

from decision_provenance.manifest import MANIFEST_LIMIT_BYTES, MANIFEST_NAME, Manifest
from decision_provenance.s3_object import read_small

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class BuildResult:
    """A package in its bucket."""

    bucket: str
    manifest: Manifest

    def attributes(self, build_id: str) -> dict[str, str]:
        """What `Fn::GetAtt` returns; `build_id` is empty when nothing had to be built."""
        return {
            "Prefix": self.manifest.prefix,
            "S3Uri": f"s3://{self.bucket}/{self.manifest.prefix}",
            "Digest": self.manifest.digest,
            "BuildId": build_id,
        }


def find_result(request: BuildRequest, s3: S3Client) -> BuildResult | None:
    """The finished result, or None while there is none.

    Raises
    ------
    ValueError
        If something else lies under its key.
    """
    content = read_small(s3, request.result_bucket, request.result_key, limit=MANIFEST_LIMIT_BYTES)
    if content is None:
        return None
    try:
        manifest = Manifest.from_bytes(content)
    except ValueError as error:
        raise ValueError(f"{request.result_uri}: {error}; delete it first") from error
    if request.result_key != manifest.prefix + MANIFEST_NAME:
        raise ValueError(
            f"{request.result_uri} describes {manifest.prefix}, which is another package: delete it and deploy again"
        )
    return BuildResult(request.result_bucket, manifest)
