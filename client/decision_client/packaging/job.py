"""The whole job: read once, hash, look at the header, pack if asked to, put, describe."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from decision_client.packaging.archive import write_archive
from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.progress import Progress
from decision_client.packaging.settings import Settings
from decision_client.packaging.write_once import upload_once, write_once
from decision_provenance.digest import hash_chunks
from decision_provenance.gguf import GgufFacts, GgufRefused, join_facts, read_facts
from decision_provenance.manifest import (
    ARCHIVE_NAME,
    MANIFEST_LIMIT_BYTES,
    MANIFEST_NAME,
    Manifest,
    PackagedFile,
    model_files,
)
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
        Where the files lie while they are checked; it needs room for all of them, with an archive for that and the
        largest file, and nothing is left in it.
    say:
        Takes one line of progress.

    Raises
    ------
    PackagingRefused
        If source, pin and bucket do not fit together; the text says what to do.
    """
    manifest = _find_manifest(settings, s3)
    if manifest is not None and _is_complete(settings, s3):
        say(f"s3://{settings.bucket}/{settings.prefix} is complete already: nothing to do")
        return manifest
    _refuse_full_disk(settings, folder)
    with TemporaryDirectory(dir=folder, prefix="packaging-") as temporary:
        paths = {file.name: Path(temporary, file.name) for file in settings.files}
        for file in settings.files:
            _fetch(file, paths[file.name], settings, s3, say)
        facts = _read_facts(settings, paths)
        stored = (_archive(settings, paths, say),) if settings.archive else settings.files
        for file in stored:
            _upload(file, paths[file.name], settings, s3, say)
    if manifest is None:
        manifest = Manifest(settings.name, settings.source.describe(), settings.files, facts, tools={})
        write_once(s3, manifest.to_bytes(), bucket=settings.bucket, key=settings.prefix + MANIFEST_NAME)
    say(f"packaged s3://{settings.bucket}/{settings.prefix}")
    return manifest


def _find_manifest(settings: Settings, s3: S3Client) -> Manifest | None:
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
    return manifest


def _is_complete(settings: Settings, s3: S3Client) -> bool:
    found = {name: pin_object(s3, settings.bucket, settings.prefix + name) for name in settings.stored_bytes}
    return {name: one and one.bytes for name, one in found.items()} == settings.stored_bytes


def _refuse_full_disk(settings: Settings, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < settings.disk_bytes:
        raise PackagingRefused(
            f"{folder} has {free} bytes free, the package takes {settings.disk_bytes}: "
            "give the build a larger compute type"
        )


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

    with closing(settings.source.read(file, s3, say)) as chunks:
        found = hash_chunks(kept(chunks))
    progress.done()
    if found.sha256 != file.sha256:
        raise PackagingRefused(
            f"{file.name} has SHA-256 {found.sha256}, the pin says {file.sha256}: "
            "correct the pin, or give the file it names"
        )


def _read_facts(settings: Settings, paths: Mapping[str, Path]) -> GgufFacts:
    facts = []
    for file in model_files(settings.files):
        try:
            with paths[file.name].open("rb") as stream:
                facts.append(read_facts(stream, file_bytes=file.bytes))
        except GgufRefused as error:
            raise PackagingRefused(
                f"{file.name} is as pinned, but no model to serve: {error}; pin another file"
            ) from error
    return join_facts(facts)


def _upload(file: PackagedFile, path: Path, settings: Settings, s3: S3Client, say: Callable[[str], None]) -> None:
    progress = Progress(f"writing {file.name}", file.bytes, say=say)
    upload_once(s3, path, file, bucket=settings.bucket, key=settings.prefix + file.name, report=progress.at)
    progress.done()


def _archive(settings: Settings, paths: dict[str, Path], say: Callable[[str], None]) -> PackagedFile:
    """Put the files into the archive, and the archive into `paths`."""
    progress = Progress(f"packing {ARCHIVE_NAME}", settings.stored_bytes[ARCHIVE_NAME], say=say)
    target = paths[settings.files[0].name].parent / ARCHIVE_NAME
    archive = write_archive(settings.files, paths, target, report=progress.at)
    progress.done()
    paths[ARCHIVE_NAME] = target
    return archive
