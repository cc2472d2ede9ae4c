"""However an archive is changed, it never passes if Python's own reader finds other files than the pinned ones."""

from __future__ import annotations

import gzip
import io
import tarfile

from hypothesis import example, given, settings
from hypothesis import strategies as st

from decision_provenance.archive import ArchiveRefused, verify_archive
from tests.support.model_archive import BLOCK_BYTES, packed, padded, pax, with_checksum, written_by_tarfile
from tests.support.verified_gguf import MODEL, pinned

TOKENIZER = b'{"model": {}}'
FILES = [("m.gguf", MODEL), ("tokenizer.json", TOKENIZER)]
PIN = [pinned(name, content) for name, content in FILES]
ARCHIVE = written_by_tarfile(FILES)
TAR = gzip.decompress(ARCHIVE)
HEADERS = [0, BLOCK_BYTES + len(padded(MODEL))]

positions = st.integers(min_value=0, max_value=1 << 20)
bytes_ = st.binary(max_size=600)


def cut_in(content: bytes, start: int, length: int, new: bytes) -> bytes:
    """The content with `new` in place of `length` bytes."""
    start %= len(content) + 1
    return content[:start] + new + content[start + length :]


def members(archive: bytes) -> list[tuple[str, bytes | None]]:
    """What Python's own reader finds; None is no regular file."""
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:gz") as opened:
        contents = [(entry.name, opened.extractfile(entry)) for entry in opened]
        return [(name, content.read() if content else None) for name, content in contents]


def passes_only_as_pinned(archive: bytes) -> None:
    try:
        verify_archive([archive], PIN, where="model.tar.gz")
    except ArchiveRefused:
        return
    try:
        found = members(archive)
    except tarfile.ReadError:
        return  # it lays no file at all
    assert sorted(found) == FILES


@settings(deadline=None, max_examples=300, derandomize=True)
@given(start=positions, length=st.integers(0, 600), new=bytes_)
@example(start=0, length=0, new=b"")
@example(start=len(ARCHIVE), length=0, new=ARCHIVE)
def test_a_change_of_the_compressed_bytes_is_found(start: int, length: int, new: bytes) -> None:
    passes_only_as_pinned(cut_in(ARCHIVE, start, length, new))


@settings(deadline=None, max_examples=300, derandomize=True)
@given(start=positions, length=st.integers(0, 2000), new=bytes_)
@example(start=len(TAR), length=0, new=TAR)
def test_a_change_of_the_tar_itself_is_found(start: int, length: int, new: bytes) -> None:
    passes_only_as_pinned(gzip.compress(cut_in(TAR, start, length, new)))


@settings(deadline=None, max_examples=500, derandomize=True)
@given(header=st.sampled_from(HEADERS), start=st.integers(0, BLOCK_BYTES - 1), new=st.binary(min_size=1, max_size=16))
def test_a_header_that_lies_with_a_right_checksum_is_found(header: int, start: int, new: bytes) -> None:
    changed = cut_in(TAR[header : header + BLOCK_BYTES], start, len(new), new)[:BLOCK_BYTES]

    passes_only_as_pinned(gzip.compress(cut_in(TAR, header, BLOCK_BYTES, with_checksum(changed))))


@settings(deadline=None, max_examples=300, derandomize=True)
@given(
    header=st.sampled_from(HEADERS),
    records=st.dictionaries(
        st.sampled_from(["path", "size", "linkpath", "mtime", "comment", "GNU.sparse.size", "hdrcharset"]),
        st.sampled_from(
            ["m.gguf", "tokenizer.json", "../m.gguf", str(len(MODEL)), str(len(TOKENIZER)), "0", "1e3", ""]
        ),
        min_size=1,
        max_size=3,
    ),
)
def test_a_pax_header_that_lies_is_found(header: int, records: dict[str, str]) -> None:
    passes_only_as_pinned(gzip.compress(cut_in(TAR, header, 0, pax(**records))))


def test_members_in_any_order_pass() -> None:
    verify_archive([packed(TAR[HEADERS[1] : HEADERS[1] + 1024], TAR[: HEADERS[1]])], PIN, where="model.tar.gz")
