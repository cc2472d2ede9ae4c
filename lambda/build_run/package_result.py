"""The finished result of a packaging build: a manifest under the key that the template expects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from request import PackagePlace

from decision_provenance.manifest import MANIFEST_LIMIT_BYTES, MANIFEST_NAME, Manifest, model_prefix
from decision_provenance.s3_object import read_small

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def find_package(place: PackagePlace, s3: S3Client) -> dict[str, str] | None:
    """What `Fn::GetAtt` returns of the finished package, or None while there is none.

    Raises
    ------
    ValueError
        If something else lies under its key.
    """
    content = read_small(s3, place.bucket, place.key, limit=MANIFEST_LIMIT_BYTES)
    if content is None:
        return None
    try:
        manifest = Manifest.from_bytes(content)
    except ValueError as error:
        raise ValueError(f"{place.uri}: {error}; delete it first") from error
    prefix = place.key.removesuffix(MANIFEST_NAME)
    if prefix not in (manifest.prefix, model_prefix(manifest.name, manifest.digest, archived=True)):
        raise ValueError(f"{place.uri} describes {manifest.prefix}, which is another package: delete it, deploy again")
    return {"Prefix": prefix, "S3Uri": f"s3://{place.bucket}/{prefix}", "Digest": manifest.digest}
