"""Writes a model.tar.gz byte by byte, so that it can be wrong in every way."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Sequence

BLOCK_BYTES = 512
END = bytes(2 * BLOCK_BYTES)


def header(name: str, size: int, *, kind: bytes = b"0", link: str = "", size_field: bytes | None = None) -> bytes:
    """One header block, with the checksum that it needs."""
    block = bytearray(BLOCK_BYTES)
    block[0 : len(name)] = name.encode()
    block[100:108] = b"0000644\0"
    block[124:136] = size_field or b"%011o\0" % size
    block[156:157] = kind
    block[157 : 157 + len(link)] = link.encode()
    block[257:265] = b"ustar\x0000"
    return with_checksum(bytes(block))


def with_checksum(block: bytes) -> bytes:
    """The header block with the checksum that the rest of it makes."""
    without = block[:148] + b" " * 8 + block[156:]
    return block[:148] + b"%06o\0 " % sum(without) + block[156:]


def member(name: str, content: bytes, *, declared: int | None = None, **changes: object) -> bytes:
    """A header and its content, filled up to whole blocks."""
    size = len(content) if declared is None else declared
    return header(name, size, **changes) + padded(content)  # type: ignore[arg-type]


def pax(**records: str) -> bytes:
    """A pax header for the member that follows."""
    content = b""
    for name, value in records.items():
        rest = f" {name}={value}\n".encode()
        length = len(rest) + 1
        while len(f"{length}".encode()) + len(rest) != length:
            length += 1
        content += f"{length}".encode() + rest
    return member("PaxHeader", content, kind=b"x")


def padded(content: bytes) -> bytes:
    """The content filled up to whole blocks."""
    return content + bytes(-len(content) % BLOCK_BYTES)


def packed(*parts: bytes, end: bytes = END) -> bytes:
    """The parts of a tar, ended and compressed."""
    return gzip.compress(b"".join(parts) + end, mtime=0)


def written_by_tarfile(files: Sequence[tuple[str, bytes]], *, format: int = tarfile.PAX_FORMAT) -> bytes:  # noqa: A002
    """The archive that Python's own writer makes of these files."""
    target = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=target, mode="wb", mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=format) as archive,
    ):
        for name, content in files:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return target.getvalue()
