"""Get a build's source and its buildspec: from S3, or from the project itself."""

from __future__ import annotations

import shutil
import stat
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from botocore.exceptions import ClientError

from local_cloud.aws_model import JsonObject
from local_cloud.codebuild.buildspec import BuildspecError
from local_cloud.loopback import client

_DEFAULT_BUILDSPEC = "buildspec.yml"


class SourceError(Exception):
    """What a build starts from cannot be had; the text says what and why."""


def fetch(source: JsonObject, version: str | None, directory: Path, scratch: Path) -> None:
    """Lay out the source of a build in an empty directory.

    Parameters
    ----------
    source:
        Of the project: type `S3` (a zip archive) or `NO_SOURCE`.
    version:
        S3 version id of the archive. Default: the latest.
    """
    if source["type"] == "NO_SOURCE":
        return
    archive = scratch / "source.zip"
    location = source["location"]
    with archive.open("wb") as file:
        shutil.copyfileobj(_s3_object(location, version), file)
    try:
        with zipfile.ZipFile(archive) as packed:
            _unpack(packed, directory, location)
    except zipfile.BadZipFile as error:
        raise SourceError(f"s3://{location} is no zip archive ({error}): upload the source as one") from error
    archive.unlink()


def buildspec_text(source: JsonObject, directory: Path) -> str:
    """The buildspec that a project names: inline, an S3 object's ARN, or a file of its source."""
    wanted = source.get("buildspec") or _DEFAULT_BUILDSPEC
    if wanted.startswith("arn:"):
        return _decoded(_s3_object(wanted.split(":::", 1)[-1], None).read(), wanted)
    if "\n" in wanted or wanted.lstrip().startswith(("{", "version:")):
        return str(wanted)
    file = directory / wanted
    if not file.resolve().is_relative_to(directory.resolve()) or not file.is_file():
        raise BuildspecError(f"the source has no file {wanted}: add it, or name another buildspec")
    return _decoded(file.read_bytes(), wanted)


def _unpack(packed: zipfile.ZipFile, directory: Path, location: str) -> None:
    for entry in packed.infolist():
        mode = entry.external_attr >> 16
        path = PurePosixPath(entry.filename)
        if path.is_absolute() or ".." in path.parts:
            raise SourceError(f"s3://{location} holds {entry.filename!r}, a path outside the source: leave it out")
        if stat.S_ISLNK(mode):
            raise SourceError(f"s3://{location} holds the symbolic link {entry.filename!r}: pack the file it points to")
        packed.extract(entry, directory)
        if mode & 0o111 and not entry.is_dir():  # extract() drops what makes a script run
            (directory / path).chmod(0o755)


def _s3_object(location: str, version: str | None) -> Any:
    bucket, _, key = location.partition("/")
    wanted = {"Bucket": bucket, "Key": key, **({"VersionId": version} if version else {})}
    try:
        return client("s3").get_object(**wanted)["Body"]
    except ClientError as error:
        raise SourceError(f"cannot download s3://{location}: {error}") from error


def _decoded(content: bytes, name: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise BuildspecError(f"{name} is not in UTF-8: {error}") from error
