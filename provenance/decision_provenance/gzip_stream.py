"""The bytes in a gzip stream that holds exactly one member, a MiB at a time, however well they were compressed.

Source: RFC 1952. A file may hold several members, and readers differ in whether they go on after the first: here a
second one is refused, so that there is nothing that one reader sees and another does not.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator

from decision_provenance.digest import CHUNK_BYTES

_GZIP = 31  # zlib's number for "a gzip header, a window of 32 KiB, and the check at the end"
_MAGIC = b"\x1f\x8b"


class ArchiveRefused(ValueError):
    """The archive is not one that may be used; the text says what was found and what is allowed."""


def gunzip(chunks: Iterable[bytes], *, before_chunk: Callable[[int], None] | None = None) -> Iterator[bytes]:
    """Unpack the one member of a gzip stream.

    Parameters
    ----------
    chunks:
        The stream. What its iterator raises passes through.
    before_chunk:
        Called with the number of bytes unpacked so far before each MiB; what it raises ends the reading. Default:
        nothing.

    Raises
    ------
    ArchiveRefused
        If the stream is broken, cut, or goes on after the member.

    Examples
    --------
    >>> import gzip
    >>> b"".join(gunzip([gzip.compress(b"GGUF")]))
    b'GGUF'
    >>> list(gunzip([gzip.compress(b"GGUF"), b"more"]))
    Traceback (most recent call last):
    decision_provenance.gzip_stream.ArchiveRefused: bytes follow the end of its gzip data: write the archive anew
    """
    unpacker = zlib.decompressobj(_GZIP)
    done = 0
    for chunk in chunks:
        pending = chunk
        while not unpacker.eof:
            if before_chunk is not None:
                before_chunk(done)
            unpacked = _unpack(unpacker, pending, done)
            done += len(unpacked)
            if unpacked:
                yield unpacked
            pending = unpacker.unconsumed_tail
            if not pending and len(unpacked) < CHUNK_BYTES:
                break
        if unpacker.eof:
            # Of the chunk in which the member ends, what is left is in `unused_data`; later ones are left whole.
            _refuse_more(unpacker.unused_data or (chunk if pending else b""))
    if not unpacker.eof:
        raise ArchiveRefused(f"its gzip data is cut after {done} unpacked bytes: upload the archive again")


def _unpack(unpacker: zlib._Decompress, packed: bytes, done: int) -> bytes:
    try:
        return unpacker.decompress(packed, CHUNK_BYTES)
    except zlib.error as error:
        raise ArchiveRefused(
            f"its gzip data is broken after {done} unpacked bytes ({error}): write the archive anew"
        ) from None


def _refuse_more(rest: bytes) -> None:
    if rest.startswith(_MAGIC):
        raise ArchiveRefused("it holds a second gzip member: write the archive as one")
    if rest:
        raise ArchiveRefused("bytes follow the end of its gzip data: write the archive anew")
