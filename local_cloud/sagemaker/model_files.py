"""Lay a model's files where its container reads them: a fresh copy from S3 per instance, read-only."""

from __future__ import annotations

import tarfile
import threading
import time
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_cloud import loopback
from local_cloud.sagemaker.variants import ModelSource

_CHUNK_BYTES = 1 << 20
_READ_ONLY = 0o444


class ModelFilesError(Exception):
    """The model's files could not be fetched or unpacked; the text is the sentence that SageMaker's user sees."""


class Download:
    """One download, which a time limit or `cancelled` ends early."""

    def __init__(self, source: ModelSource, folder: Path, *, seconds: float, cancelled: threading.Event) -> None:
        self._source = source
        self._folder = folder
        self._seconds = seconds
        self._cancelled = cancelled

    def run(self) -> None:
        """Fetch everything into the folder; raises `ModelFilesError`."""
        self._deadline = time.monotonic() + self._seconds
        try:
            if self._source.archive:
                self._unpack()
            else:
                self._copy_objects()
        except tarfile.TarError as error:
            raise ModelFilesError(f"Failed to extract model data archive {self._source.uri}: {error}.") from error
        except (BotoCoreError, ClientError, OSError, EOFError) as error:
            raise ModelFilesError(self._not_downloaded(str(error))) from error

    def _copy_objects(self) -> None:
        s3 = loopback.client("s3")
        keys = [self._source.key] if self._source.one_object else list(_keys_below(s3, self._source))
        if not keys:
            raise ModelFilesError(self._not_downloaded("no object lies below this prefix"))
        prefix = "" if self._source.one_object else _as_folder(self._source.key)
        for key in keys:
            name = PurePosixPath(key).name if self._source.one_object else key.removeprefix(prefix)
            body = s3.get_object(Bucket=self._source.bucket, Key=key)["Body"]
            self._write(name, body.iter_chunks(_CHUNK_BYTES))

    def _unpack(self) -> None:
        body = loopback.client("s3").get_object(Bucket=self._source.bucket, Key=self._source.key)["Body"]
        with tarfile.open(fileobj=body, mode="r|gz") as archive:
            for member in archive:
                if member.isdir():
                    continue
                content = archive.extractfile(member) if member.isfile() else None
                if content is None:
                    raise ModelFilesError(
                        f"Failed to extract model data archive {self._source.uri}: member {member.name!r} is no"
                        " regular file; a model archive may hold only files and folders."
                    )
                self._write(member.name, _chunks(content))

    def _write(self, name: str, chunks: Iterable[bytes]) -> None:
        path = self._folder / _safe_relative(name, self._source)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("xb") as file:
            for chunk in chunks:
                if self._cancelled.is_set():
                    raise ModelFilesError("The instance was stopped while it downloaded its model.")
                if time.monotonic() > self._deadline:
                    raise ModelFilesError(f"Downloading {self._source.uri} took over {self._seconds:g} seconds.")
                file.write(chunk)
        path.chmod(_READ_ONLY)

    def _not_downloaded(self, why: str) -> str:
        return (
            f"Failed to download model data for container from {self._source.uri}: {why}. Please ensure that there is"
            " an object located at the URL and that the role passed to CreateModel has permission to read it."
        )


def _keys_below(s3: Any, source: ModelSource) -> Iterator[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=source.bucket, Prefix=_as_folder(source.key))
    for page in pages:
        for entry in page.get("Contents", []):
            if not entry["Key"].endswith("/"):  # the empty objects that consoles make for folders
                yield entry["Key"]


def _as_folder(key: str) -> str:
    return key if key.endswith("/") or not key else f"{key}/"


def _chunks(content: IO[bytes]) -> Iterator[bytes]:
    while chunk := content.read(_CHUNK_BYTES):
        yield chunk


def _safe_relative(name: str, source: ModelSource) -> Path:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or not path.parts:
        raise ModelFilesError(f"{source.uri} holds {name!r}, which would lie outside the model folder.")
    return Path(*path.parts)
