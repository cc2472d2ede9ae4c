"""`model.tar.gz`: the same files give the same bytes, everywhere.

The members are sorted and have no owner and no time. They are stored, not compressed: a quantized model hardly gets any
smaller, an instance unpacks it sooner, and no two versions of zlib can disagree about the bytes.

Source: RFC 1952 (gzip), RFC 1951, section 3.2.4 (stored blocks), POSIX.1-2017, pax.
"""

from __future__ import annotations

import hashlib
import struct
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from decision_provenance.digest import CHUNK_BYTES
from decision_provenance.manifest import ARCHIVE_NAME, PackagedFile

_TAR_BLOCK = 512
_TAR_END = bytes(2 * _TAR_BLOCK)
# Deflate, no flags, no time, no level, unknown system: nothing that says where it was made.
_GZIP_HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
_STORED_BLOCK = 65_535
_BLOCK_HEADER = struct.Struct("<BHH")
_GZIP_TRAILER = struct.Struct("<II")


def archive_bytes(files: Sequence[PackagedFile]) -> int:
    """How long the archive of these files is.

    Examples
    --------
    >>> archive_bytes([PackagedFile("m.gguf", "ab" * 32, 1000)])
    2583
    """
    tar = sum(len(tar_header(file)) + file.bytes + -file.bytes % _TAR_BLOCK for file in files) + len(_TAR_END)
    blocks = -(-tar // _STORED_BLOCK)
    return len(_GZIP_HEADER) + tar + blocks * _BLOCK_HEADER.size + _GZIP_TRAILER.size


def write_archive(
    files: Sequence[PackagedFile], paths: Mapping[str, Path], target: Path, *, report: Callable[[int], None]
) -> PackagedFile:
    """Move files into an archive, and return what is known of it.

    Parameters
    ----------
    files:
        What to put into it; each is deleted once it is in, so that there are never two copies of all.
    paths:
        Where the file of each name is.
    target:
        The archive; it must not exist.
    report:
        Called with the number of bytes written so far.
    """
    digest = hashlib.sha256()
    done = 0
    with target.open("xb") as archive:
        for block in _gzip(_tar(files, paths)):
            archive.write(block)
            digest.update(block)
            done += len(block)
            report(done)
    return PackagedFile(ARCHIVE_NAME, digest.hexdigest(), done)


def _tar(files: Sequence[PackagedFile], paths: Mapping[str, Path]) -> Iterator[bytes]:
    for file in sorted(files, key=lambda file: file.name):
        yield tar_header(file)
        with paths[file.name].open("rb") as content:
            while chunk := content.read(CHUNK_BYTES):
                yield chunk
        yield bytes(-file.bytes % _TAR_BLOCK)
        paths[file.name].unlink()
    yield _TAR_END


def tar_header(file: PackagedFile) -> bytes:
    """What precedes a file in the archive: with a long name, or from 8 GiB on, that is a pax header too."""
    # A TarInfo of its own is a regular file of mode 0644, user and group 0 without names, and time 0.
    member = tarfile.TarInfo(file.name)
    member.size = file.bytes
    return member.tobuf(format=tarfile.PAX_FORMAT)


def _gzip(chunks: Iterable[bytes]) -> Iterator[bytes]:
    yield _GZIP_HEADER
    check, length = 0, 0
    held = b""
    for chunk in chunks:
        check, length = zlib.crc32(chunk, check), length + len(chunk)
        pending = held + chunk
        # Always something is held back: the last block is marked as such.
        end = (len(pending) - 1) // _STORED_BLOCK * _STORED_BLOCK if pending else 0
        for start in range(0, end, _STORED_BLOCK):
            yield _stored(pending[start : start + _STORED_BLOCK], last=False)
        held = pending[end:]
    yield _stored(held, last=True)
    yield _GZIP_TRAILER.pack(check, length % 2**32)


def _stored(block: bytes, *, last: bool) -> bytes:
    return _BLOCK_HEADER.pack(last, len(block), len(block) ^ 0xFFFF) + block
