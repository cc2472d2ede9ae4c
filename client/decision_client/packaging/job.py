"""The whole job: read once, hash, look at the header, put, describe."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.progress import Progress
from decision_client.packaging.settings import Settings
from decision_client.packaging.write_once import upload_once, write_once
from decision_provenance.digest import hash_chunks
from decision_provenance.gguf import GgufFacts, GgufRefused, join_facts, read_facts
from decision_provenance.manifest import MANIFEST_LIMIT_BYTES, MANIFEST_NAME, Manifest, PackagedFile
from decision_provenance.s3_object import pin_object, read_small

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def package(settings: Settings, s3: S3Client, *, folder: Path, say: Callable[[str], None]) -> Manifest:
    """Make the package, unless it is there already, and return its manifest.

    The manifest is written last, so that a package that has one is complete.

    Parameters
    ----------
    settings:
        What to package.
    s3:
        A boto3 client for source and target.
    folder:
        Where the model lies while it is checked; it needs room for all files, and nothing is left in it.
    say:
        Takes one line of progress.

    Raises
    ------
    PackagingRefused
        If source, pin and bucket do not fit together; the text says what to do.
    """
    finished = _find_finished(settings, s3)
    if finished is not None:
        say(f"s3://{settings.bucket}/{settings.prefix} is complete already: nothing to do")
        return finished
    needed = sum(file.bytes for file in settings.files)
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise PackagingRefused(
            f"{folder} has {free} bytes free, the model has {needed}: give the build a larger compute type"
        )
    with TemporaryDirectory(dir=folder, prefix="packaging-") as temporary:
        paths = [Path(temporary, file.name) for file in settings.files]
        for file, path in zip(settings.files, paths, strict=True):
            _fetch(file, path, settings, s3, say)
        facts = _read_facts(settings, paths)
        for file, path in zip(settings.files, paths, strict=True):
            progress = Progress(f"writing {file.name}", file.bytes, say=say)
            key = settings.prefix + file.name
            upload_once(s3, path, file, bucket=settings.bucket, key=key, report=progress.at)
            progress.done()
    manifest = Manifest(settings.name, settings.source.describe(), settings.files, facts, tools={})
    write_once(s3, manifest.to_bytes(), bucket=settings.bucket, key=settings.prefix + MANIFEST_NAME)
    say(f"packaged s3://{settings.bucket}/{settings.prefix}")
    return manifest


def _find_finished(settings: Settings, s3: S3Client) -> Manifest | None:
    key = settings.prefix + MANIFEST_NAME
    uri = f"s3://{settings.bucket}/{key}"
    content = read_small(s3, settings.bucket, key, limit=MANIFEST_LIMIT_BYTES)
    if content is None:
        return None
    try:
        manifest = Manifest.from_bytes(content)
    except ValueError as error:
        raise PackagingRefused(f"{uri}: {error}; delete it first") from error
    if manifest.files != settings.files:
        raise PackagingRefused(
            f"{uri} describes package {manifest.digest}, the pin says {settings.digest}: "
            "find out who wrote it, delete the prefix, then deploy again"
        )
    stored = [pin_object(s3, settings.bucket, settings.prefix + file.name) for file in settings.files]
    sizes = [None if found is None else found.bytes for found in stored]
    return manifest if sizes == [file.bytes for file in settings.files] else None


def _fetch(file: PackagedFile, path: Path, settings: Settings, s3: S3Client, say: Callable[[str], None]) -> None:
    """Bring one file into the folder, hashing it on the way; other bytes than the pinned ones are refused."""
    progress = Progress(f"reading {file.name}", file.bytes, say=say)

    def kept(chunks: Iterator[bytes]) -> Iterator[bytes]:
        done = 0
        with path.open("wb") as target:
            for chunk in chunks:
                target.write(chunk)
                done += len(chunk)
                progress.at(done)
                yield chunk

    with closing(settings.source.read(file, s3)) as chunks:
        found = hash_chunks(kept(chunks))
    progress.done()
    if found.sha256 != file.sha256:
        raise PackagingRefused(
            f"{file.name} has SHA-256 {found.sha256}, the pin says {file.sha256}: "
            "correct the pin, or give the file it names"
        )


def _read_facts(settings: Settings, paths: list[Path]) -> GgufFacts:
    facts = []
    for file, path in zip(settings.files, paths, strict=True):
        try:
            with path.open("rb") as stream:
                facts.append(read_facts(stream, file_bytes=file.bytes))
        except GgufRefused as error:
            raise PackagingRefused(
                f"{file.name} is as pinned, but no model to serve: {error}; pin another file"
            ) from error
    return join_facts(facts)
