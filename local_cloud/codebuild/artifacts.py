"""Upload what a build leaves behind to S3, as the project's `artifacts` of type S3 say."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

from botocore.exceptions import ClientError

from local_cloud.aws_model import JsonObject
from local_cloud.codebuild.buildspec import ArtifactFiles
from local_cloud.loopback import client


class ArtifactError(Exception):
    """The artifacts cannot be uploaded; the text says which and why."""


def upload(
    target: JsonObject, files: ArtifactFiles | None, *, source: Path, scratch: Path, build_id: str
) -> JsonObject:
    """Upload the files and return the `artifacts` of the build record: where they are, and a zip's SHA-256."""
    if files is None:
        raise ArtifactError("the project has artifacts of type S3, but the buildspec has no artifacts: name its files")
    base = (source / files.base_directory).resolve()
    if not base.is_relative_to(source.resolve()) or not base.is_dir():
        raise ArtifactError(f"artifacts.base-directory: {files.base_directory} is no folder of the source")
    chosen = _chosen_files(base, files)
    prefix = _prefix(target, build_id)
    if target.get("packaging", "NONE") == "ZIP":
        archive = scratch / "artifacts.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for name, path in chosen.items():
                packed.write(path, name)
        _put(target["location"], prefix, archive)
        with archive.open("rb") as content:
            checks = {"sha256sum": hashlib.file_digest(content, "sha256").hexdigest()}
    else:
        for name, path in chosen.items():
            _put(target["location"], f"{prefix}/{name}", path)
        checks = {}
    return {"location": f"arn:aws:s3:::{target['location']}/{prefix}", **checks}


def _chosen_files(base: Path, files: ArtifactFiles) -> dict[str, Path]:
    chosen: dict[str, Path] = {}
    for pattern in files.patterns:
        if Path(pattern).is_absolute() or ".." in Path(pattern).parts:
            raise ArtifactError(f"artifacts.files: {pattern!r} leads outside the base directory")
        found = sorted(path for path in base.glob(pattern) if path.is_file())
        if not found:
            raise ArtifactError(f"artifacts.files: no matching artifact paths found for {pattern!r}")
        for path in found:
            chosen[path.name if files.discard_paths else path.relative_to(base).as_posix()] = path
    return chosen


def _prefix(target: JsonObject, build_id: str) -> str:
    build_part = build_id.rpartition(":")[2] if target.get("namespaceType") == "BUILD_ID" else ""
    parts = (target.get("path", "").strip("/"), build_part, target["name"].strip("/"))
    return "/".join(part for part in parts if part)


def _put(bucket: str, key: str, path: Path) -> None:
    try:
        with path.open("rb") as content:
            client("s3").put_object(Bucket=bucket, Key=key, Body=content)
    except ClientError as error:
        raise ArtifactError(f"cannot upload s3://{bucket}/{key}: {error}") from error
