"""A model.tar.gz holds the pinned files and nothing else, or it is refused in one sentence."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tracemalloc
import zlib
from pathlib import Path

import pytest

from decision_client.packaging.archive import tar_header, write_archive
from decision_provenance.archive import ArchiveRefused, verify_archive
from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import PackagedFile
from decision_provenance.tar_stream import Member, TarStream
from tests.support.model_archive import END, header, member, packed, padded, pax, written_by_tarfile
from tests.support.verified_gguf import MODEL, manifest_of, pinned, shards

PIN = pinned("m.gguf", MODEL)
MANIFEST = "model-manifest.json"
LONG_NAME = f"{'m' * 150}.gguf"


def verify(archive: bytes, *files: PackagedFile, chunk_bytes: int = 1 << 20) -> GgufFacts:
    chunks = (archive[start : start + chunk_bytes] for start in range(0, len(archive), chunk_bytes))
    return verify_archive(chunks, files or (PIN,), where="model.tar.gz")


def refusal(archive: bytes, *files: PackagedFile) -> str:
    with pytest.raises(ArchiveRefused) as refused:
        verify(archive, *files)
    text = str(refused.value)
    assert text.startswith("model.tar.gz: ")
    assert len(text) < 700
    return text


@pytest.mark.parametrize("format", [tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT])
def test_the_pinned_model_passes_whoever_wrote_the_archive(format: int) -> None:  # noqa: A002
    assert verify(written_by_tarfile([("m.gguf", MODEL)], format=format)).decision_type == "systemone"


@pytest.mark.parametrize("chunk_bytes", [1, 7, 512])
def test_an_archive_that_comes_in_small_pieces_passes(chunk_bytes: int) -> None:
    assert verify(packed(member("m.gguf", MODEL)), chunk_bytes=chunk_bytes).architecture == "llama"


def test_a_split_model_passes_in_any_order_as_one() -> None:
    files = [pinned(name, content) for name, content in shards()]
    archive = written_by_tarfile([*reversed(shards())])

    assert verify(archive, *files).parameter_count == 48


def test_a_manifest_that_agrees_may_lie_beside_the_model() -> None:
    archive = written_by_tarfile([("m.gguf", MODEL), (MANIFEST, manifest_of(PIN))])

    assert verify(archive).architecture == "llama"


def test_a_long_name_passes_in_a_pax_header() -> None:
    archive = written_by_tarfile([(LONG_NAME, MODEL)])

    assert verify(archive, pinned(LONG_NAME, MODEL)).architecture == "llama"


def test_a_size_in_gnu_s_binary_form_passes() -> None:
    size = b"\x80" + len(MODEL).to_bytes(11)

    assert verify(packed(member("m.gguf", MODEL, size_field=size))).architecture == "llama"


def test_a_header_of_the_packaging_build_says_the_length_also_beyond_8_gib() -> None:
    file = PackagedFile(LONG_NAME, "ab" * 32, 9 << 30)

    member = TarStream([tar_header(file)]).next_member()

    assert member == Member(LONG_NAME, 9 << 30)


def test_what_the_packaging_build_writes_passes(tmp_path: Path) -> None:
    contents = {**dict(shards()), "tokenizer.json": b"{}", "a" * 150: b"long"}
    files = [pinned(name, content) for name, content in contents.items()]
    paths = {name: tmp_path / name for name in contents}
    for name, content in contents.items():
        paths[name].write_bytes(content)
    archive = tmp_path / "model.tar.gz"
    write_archive(files, paths, archive, report=lambda done: None)

    assert verify(archive.read_bytes(), *files).split_count == 2


REFUSED = {
    "a second model": (
        packed(member("m.gguf", MODEL), member("n.gguf", MODEL)),
        "it holds 'n.gguf', the pin lists m.gguf",
    ),
    "another name": (packed(member("n.gguf", MODEL)), "it holds 'n.gguf', the pin lists m.gguf"),
    "a file nobody pinned": (
        packed(member("m.gguf", MODEL), member("README.md", b"x")),
        "it holds 'README.md', the pin lists m.gguf",
    ),
    "nothing": (packed(), "it lacks m.gguf, which the pin lists"),
    "the same file twice": (packed(member("m.gguf", MODEL), member("m.gguf", MODEL)), "it holds m.gguf twice"),
    "two manifests": (
        packed(member("m.gguf", MODEL), *[member(MANIFEST, manifest_of(PIN))] * 2),
        "it holds model-manifest.json twice",
    ),
    "a shorter file": (packed(member("m.gguf", MODEL[:-1])), f"declares {len(MODEL) - 1} bytes, the pin says"),
    "10 GB of zeros": (
        packed(header("m.gguf", 10**10, size_field=b"\x80" + (10**10).to_bytes(11)), bytes(1 << 20)),
        f"declares 10000000000 bytes, the pin says {len(MODEL)}",
    ),
    "other bytes": (packed(member("m.gguf", MODEL[::-1])), "has SHA-256 "),
    "a symbolic link": (packed(header("m.gguf", 0, kind=b"2", link="/etc/passwd")), "'m.gguf' is a symbolic link"),
    "a hard link": (
        packed(member("m.gguf", MODEL), header("n.gguf", 0, kind=b"1", link="m.gguf")),
        "'n.gguf' is a hard link",
    ),
    "a character device": (packed(header("m.gguf", 0, kind=b"3")), "'m.gguf' is a device"),
    "a block device": (packed(header("m.gguf", 0, kind=b"4")), "'m.gguf' is a device"),
    "a pipe": (packed(header("m.gguf", 0, kind=b"6")), "'m.gguf' is a FIFO"),
    "a folder": (packed(header("x/", 0, kind=b"5"), member("m.gguf", MODEL)), "'x/' is a folder"),
    "a sparse file": (packed(member("m.gguf", MODEL, kind=b"S")), "'m.gguf' is a sparse file"),
    "an unknown kind": (packed(member("m.gguf", MODEL, kind=b"Z")), "'m.gguf' is of unknown type b'Z'"),
    "a GNU long name": (
        written_by_tarfile([(LONG_NAME, MODEL)], format=tarfile.GNU_FORMAT),
        "is a long name of GNU tar",
    ),
    "pax for all": (packed(member("g", b"13 path=a.gguf\n", kind=b"g")), "'g' is a pax header for all members"),
    "a way out": (packed(member("../m.gguf", MODEL)), "'../m.gguf' would lie outside the model folder"),
    "a hidden way out": (packed(member("x/../../m.gguf", MODEL)), "would lie outside the model folder"),
    "an absolute name": (packed(member("/opt/ml/model/m.gguf", MODEL)), "would lie outside the model folder"),
    "an absolute name in pax": (packed(pax(path="/m.gguf"), member("m.gguf", MODEL)), "would lie outside"),
    "an inner folder": (packed(member("x/m.gguf", MODEL)), "it holds 'x/m.gguf', the pin lists m.gguf"),
    "a name that is not ASCII": (packed(member("mé.gguf", MODEL)), "has a name that is not ASCII"),
    "a pax size that is too small": (
        packed(pax(size="5"), member("m.gguf", MODEL)),
        f"{len(MODEL)} bytes by its header and 5 by its pax header",
    ),
    "a pax size that is too large": (
        packed(pax(size=str(len(MODEL))), member("m.gguf", MODEL, declared=5)),
        f"5 bytes by its header and {len(MODEL)} by its pax header",
    ),
    "a pax size beyond the archive": (
        packed(pax(size="99999999999"), member("m.gguf", MODEL, declared=0)),
        "declares 99999999999 bytes, the pin says",
    ),
    "a pax size that is no number": (packed(pax(size="-1"), member("m.gguf", MODEL)), "the pax size '-1'"),
    "a pax link": (packed(pax(linkpath="/etc"), member("m.gguf", MODEL)), "'linkpath' which is not allowed"),
    "a sparse pax header": (packed(pax(**{"GNU.sparse.map": "0,1"}), member("m.gguf", MODEL)), "'GNU.sparse.map'"),
    "pax without a member": (packed(pax(path="m.gguf")), "has no member of its own"),
    "pax upon pax": (packed(pax(path="a"), pax(path="m.gguf"), member("m.gguf", MODEL)), "no member of its own"),
    "a pax header that lies": (
        packed(member("x", b"99 path=m.gguf\n", kind=b"x"), member("m.gguf", MODEL)),
        "a pax header is broken at b'99 path=m.gguf",
    ),
    "a pax header of a gigabyte": (packed(header("x", 1 << 30, kind=b"x")), "a pax header has 1073741824 bytes"),
    "pax records that repeat": (
        packed(member("x", b"15 path=m.gguf\n15 path=n.gguf\n", kind=b"x"), member("m.gguf", MODEL)),
        "'path' twice",
    ),
    "a broken header": (
        packed(b"M" + member("m.gguf", MODEL)[1:]),
        "a member's header is broken (its checksum is wrong)",
    ),
    "a size that is no number": (
        packed(member("m.gguf", MODEL, size_field=b"9" * 11 + b"\0")),
        "a member's size is b'99999999999\\x00', which is no octal number",
    ),
    "a negative size": (packed(member("m.gguf", MODEL, size_field=b"\xff" * 12)), "which is no octal number"),
    "a cut member": (packed(header("m.gguf", len(MODEL)), MODEL[:-9], end=b""), f"ends after {len(MODEL) - 9} of its"),
    "no end": (packed(member("m.gguf", MODEL), end=b""), "ends without the two empty blocks"),
    "one empty block": (packed(member("m.gguf", MODEL), end=bytes(512)), "ends without the two empty blocks"),
    "a member behind an empty block": (
        packed(member("m.gguf", MODEL), bytes(512), member("n.gguf", MODEL)),
        "goes on after an empty block",
    ),
    "a member behind the end": (
        packed(member("m.gguf", MODEL), END, member("n.gguf", MODEL)),
        "more data follow the end of its last member",
    ),
    "zeros behind the end": (
        packed(member("m.gguf", MODEL), bytes(2 << 20)),
        "zeros follow the end of its last member",
    ),
    "no gzip": (padded(b"GGUF"), "its gzip data is broken after 0 unpacked bytes"),
    "an empty object": (b"", "its gzip data is cut after 0 unpacked bytes"),
    "cut gzip data": (packed(member("m.gguf", MODEL))[:-1], "its gzip data is cut after"),
    "a wrong check": (packed(member("m.gguf", MODEL))[:-8] + bytes(8), "(Error -3 while decompressing data"),
    "bytes behind gzip": (packed(member("m.gguf", MODEL)) + b"x", "bytes follow the end of its gzip data"),
    "zeros behind gzip": (packed(member("m.gguf", MODEL)) + bytes(512), "bytes follow the end of its gzip data"),
    "a second gzip member": (
        packed(member("m.gguf", MODEL)) + packed(member("n.gguf", MODEL)),
        "it holds a second gzip member",
    ),
    "a tar in two gzip members": (
        packed(member("m.gguf", MODEL), end=b"") + gzip.compress(END),
        "it holds a second gzip member",
    ),
    "a manifest that is none": (
        packed(member("m.gguf", MODEL), member(MANIFEST, b"{")),
        "model-manifest.json: a model manifest is not JSON",
    ),
    "a manifest of another package": (
        packed(member("m.gguf", MODEL), member(MANIFEST, manifest_of(pinned("m.gguf", b"other")))),
        "which is not the pinned one",
    ),
    "a manifest of a gigabyte": (packed(header(MANIFEST, 1 << 30)), "model-manifest.json has 1073741824 bytes"),
}


@pytest.mark.parametrize(("archive", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_an_archive_that_is_anything_else_is_refused_in_one_sentence(archive: bytes, said: str) -> None:
    assert said in refusal(archive)


def test_bytes_that_follow_in_a_chunk_of_their_own_are_refused() -> None:
    chunks = [packed(member("m.gguf", MODEL)), b"", b"x"]

    with pytest.raises(ArchiveRefused, match="bytes follow the end"):
        verify_archive(chunks, [PIN], where="model.tar.gz")


def test_a_shard_that_is_missing_is_refused_by_name() -> None:
    files = [pinned(name, content) for name, content in shards()]

    assert "it lacks m-00002-of-00002.gguf" in refusal(written_by_tarfile(shards()[:1]), *files)


def test_shards_whose_headers_are_swapped_are_refused() -> None:
    (one, first), (two, second) = shards()
    swapped = [(one, second), (two, first)]

    text = refusal(written_by_tarfile(swapped), *[pinned(name, content) for name, content in swapped])

    assert "give all shards of one model, in order" in text


def test_pinned_bytes_that_are_no_model_are_refused_with_the_offset() -> None:
    content = b"FUGG" + MODEL[4:]

    assert "GGUF refused at byte 0" in refusal(written_by_tarfile([("m.gguf", content)]), pinned("m.gguf", content))


def test_the_caller_can_stop_it_before_any_mebibyte() -> None:
    class StoppedError(Exception):
        pass

    def stop(done: int) -> None:
        if done >= 3 << 20:
            raise StoppedError

    packer = zlib.compressobj(wbits=31)
    size = 64 << 20
    archive = packer.compress(header("m.gguf", size) + bytes(size)) + packer.flush()

    with pytest.raises(StoppedError):
        verify_archive([archive], [PackagedFile("m.gguf", "ab" * 32, size)], where="a.tar.gz", before_chunk=stop)


def test_memory_stays_flat_however_much_a_few_bytes_unpack_to() -> None:
    size = 96 << 20
    packer = zlib.compressobj(wbits=31)
    packed_zeros = b"".join(
        [packer.compress(header("t.json", size)), *(packer.compress(bytes(1 << 20)) for _ in range(96))]
    )
    archive = packed_zeros + packer.compress(member("m.gguf", MODEL) + END) + packer.flush()
    digest = hashlib.sha256()
    for _ in range(96):
        digest.update(bytes(1 << 20))
    files = [PIN, PackagedFile("t.json", digest.hexdigest(), size)]

    tracemalloc.start()
    try:
        verify_archive([archive], files, where="a.tar.gz")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert len(archive) < 1 << 20
    assert peak < 8 << 20
