"""An archive is the same bytes for the same files, and any reader finds them in it."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decision_client.packaging.archive import archive_bytes, tar_header, write_archive
from decision_provenance.archive import verify_archive
from decision_provenance.manifest import PackagedFile
from decision_provenance.tar_stream import Member, TarStream
from tests.support.gguf_header import GgufFile

MODEL = GgufFile().content()


def pinned(contents: dict[str, bytes]) -> list[PackagedFile]:
    return [PackagedFile(name, hashlib.sha256(content).hexdigest(), len(content)) for name, content in contents.items()]


def packed(contents: dict[str, bytes], folder: Path) -> tuple[PackagedFile, bytes]:
    """The archive of these files; the files themselves must be gone."""
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    target = folder / "model.tar.gz"
    paths = {name: folder / name for name in contents}
    archive = write_archive(pinned(contents), paths, target, report=lambda _: None)
    assert list(folder.iterdir()) == [target]
    return archive, target.read_bytes()


# Around the sizes where a block of the tar, and one of deflate, is full.
SIZES = st.sampled_from([1, 511, 512, 513, 63_999, 64_000, 65_023, 65_024, 65_535, 65_536, 131_070, 200_000])


@given(sizes=st.lists(SIZES, min_size=1, max_size=3), fill=st.integers(0, 255))
def test_what_was_packed_is_what_others_unpack(sizes: list[int], fill: int) -> None:
    contents = {f"{number}.json": bytes([fill]) * size for number, size in enumerate(sizes)}

    with TemporaryDirectory() as folder:
        archive, content = packed(contents, Path(folder))

    assert (archive.sha256, archive.bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    assert archive.bytes == archive_bytes(pinned(contents))
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(content))) as tar:
        assert {member.name: tar.extractfile(member).read() for member in tar} == contents  # type: ignore[union-attr]


def test_the_order_of_the_files_does_not_matter(tmp_path: Path) -> None:
    contents = {"m.gguf": MODEL, "tokenizer.json": b"{}", "a" * 150 + ".txt": b"a name too long for an old tar"}
    archives = []
    for number, names in enumerate((sorted(contents), sorted(contents, reverse=True))):
        folder = tmp_path / str(number)
        folder.mkdir()
        archives.append(packed({name: contents[name] for name in names}, folder)[1])

    assert archives[0] == archives[1]


def test_nothing_in_it_says_who_made_it_or_when(tmp_path: Path) -> None:
    _, content = packed({"m.gguf": MODEL}, tmp_path)

    assert content[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
    (member,) = tarfile.open(fileobj=io.BytesIO(content)).getmembers()  # noqa: SIM115 - in memory
    assert (member.mode, member.uid, member.gid, member.uname, member.gname, member.mtime) == (0o644, 0, 0, "", "", 0)


def test_the_verification_takes_it(tmp_path: Path) -> None:
    contents = {"m.gguf": MODEL, "tokenizer.json": b"{}"}
    _, content = packed(contents, tmp_path)

    assert verify_archive([content], pinned(contents), where="model.tar.gz").architecture == "llama"


@pytest.mark.parametrize("length", [8**11 - 1, 8**11])
def test_a_file_too_long_for_an_old_tar_keeps_its_length(length: int) -> None:
    header = tar_header(PackagedFile("m.gguf", "ab" * 32, length))

    assert TarStream([header]).next_member() == Member("m.gguf", length)
