"""Is a `model.tar.gz` the pinned model? The archive's own digest would not say: its members are what is served."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence

from decision_provenance.digest import hash_chunks
from decision_provenance.gguf import GgufFacts, GgufRefused, join_facts, read_facts
from decision_provenance.gguf_cursor import HEADER_LIMIT_BYTES
from decision_provenance.gzip_stream import ArchiveRefused, gunzip
from decision_provenance.manifest import MANIFEST_LIMIT_BYTES, MANIFEST_NAME, Manifest, PackagedFile, model_files
from decision_provenance.tar_stream import Member, TarStream

__all__ = ["ArchiveRefused", "verify_archive"]

_AS_PINNED = "correct the pin or write the archive anew"


def verify_archive(
    chunks: Iterable[bytes],
    files: Sequence[PackagedFile],
    *,
    where: str,
    before_chunk: Callable[[int], None] | None = None,
) -> GgufFacts:
    """Read an archive once, in order, and compare every member with the pin; only then parse its GGUF header.

    The archive must hold the pinned files, directly and each once, in any order; a manifest that agrees may lie beside
    them. Memory stays the same for any size: at most the longest header that a GGUF may have, 64 MiB, is kept.

    Parameters
    ----------
    chunks:
        The archive. What its iterator raises passes through.
    files:
        The pin: the model's files in shard order, then its tokenizer's.
    where:
        What an error calls the archive.
    before_chunk:
        Called with the number of bytes unpacked so far before each MiB; what it raises ends the reading. Default:
        nothing.

    Returns
    -------
    What the headers of the model's files say.

    Raises
    ------
    ArchiveRefused
        If the archive is anything else; a member that declares another length than its pin is not read on.

    Examples
    --------
    >>> verify_archive([b"PK"], [PackagedFile("m.gguf", "ab" * 32, 5)], where="model.tar.gz")
    Traceback (most recent call last):
    decision_provenance.gzip_stream.ArchiveRefused: model.tar.gz: its gzip data is broken after 0 unpacked bytes ...
    """
    inspection = _Inspection(files)
    try:
        tar = TarStream(gunzip(chunks, before_chunk=before_chunk))
        while (member := tar.next_member()) is not None:
            inspection.take(member, tar.content(member))
        return inspection.facts()
    except ArchiveRefused as refused:
        raise ArchiveRefused(f"{where}: {refused}") from refused.__cause__


class _Inspection:
    """What was seen of an archive so far."""

    def __init__(self, files: Sequence[PackagedFile]) -> None:
        self._files = tuple(files)
        self._pinned = {file.name: file for file in files}
        self._model_names = [file.name for file in model_files(files)]
        self._facts: dict[str, GgufFacts] = {}
        self._seen: set[str] = set()

    def take(self, member: Member, content: Iterable[bytes]) -> None:
        """Check one member, reading its content."""
        self._refuse_name(member)
        if member.name == MANIFEST_NAME:
            self._take_manifest(member, content)
        elif member.name in self._model_names:
            self._take_model(self._pinned[member.name], member, content)
        else:
            _compare(self._pinned[member.name], member, content)
        self._seen.add(member.name)

    def facts(self) -> GgufFacts:
        """The facts of the whole model, once everything was seen."""
        missing = [file.name for file in self._files if file.name not in self._seen]
        if missing:
            raise ArchiveRefused(f"it lacks {', '.join(missing[:10])}, which the pin lists: {_AS_PINNED}")
        try:
            return join_facts([self._facts[name] for name in self._model_names])
        except ValueError as error:
            raise ArchiveRefused(f"its files are as pinned, but {error}") from error

    def _refuse_name(self, member: Member) -> None:
        name = member.name
        if name.startswith("/") or ".." in name.split("/"):
            raise ArchiveRefused(f"member {name!r:.220} would lie outside the model folder: {_AS_PINNED}")
        if name in self._seen:
            raise ArchiveRefused(f"it holds {name} twice: {_AS_PINNED}")
        if name not in self._pinned and name != MANIFEST_NAME:
            listed = ", ".join(list(self._pinned)[:10])
            raise ArchiveRefused(f"it holds {name!r:.220}, the pin lists {listed}: {_AS_PINNED}")

    def _take_model(self, pinned: PackagedFile, member: Member, content: Iterable[bytes]) -> None:
        head = io.BytesIO()

        def kept() -> Iterable[bytes]:
            for piece in content:
                head.write(piece[: max(0, HEADER_LIMIT_BYTES - head.tell())])
                yield piece

        _compare(pinned, member, kept())
        head.seek(0)
        try:
            self._facts[member.name] = read_facts(head, file_bytes=pinned.bytes)
        except GgufRefused as error:
            raise ArchiveRefused(
                f"{member.name} is as pinned, but no model to serve: {error}; pin another file"
            ) from error

    def _take_manifest(self, member: Member, content: Iterable[bytes]) -> None:
        if member.bytes > MANIFEST_LIMIT_BYTES:
            raise ArchiveRefused(f"{MANIFEST_NAME} has {member.bytes} bytes, allowed are {MANIFEST_LIMIT_BYTES}")
        written = b"".join(content)
        try:
            manifest = Manifest.from_bytes(written)
        except ValueError as error:
            raise ArchiveRefused(f"{MANIFEST_NAME}: {error}") from error
        if manifest.files != self._files:
            raise ArchiveRefused(f"{MANIFEST_NAME} describes package {manifest.digest}, which is not the pinned one")


def _compare(pinned: PackagedFile, member: Member, content: Iterable[bytes]) -> None:
    if member.bytes != pinned.bytes:
        raise ArchiveRefused(
            f"member {pinned.name} declares {member.bytes} bytes, the pin says {pinned.bytes}: {_AS_PINNED}"
        )
    found = hash_chunks(content)
    if found.sha256 != pinned.sha256:
        raise ArchiveRefused(
            f"member {pinned.name} has SHA-256 {found.sha256}, the pin says {pinned.sha256}: {_AS_PINNED}"
        )
