"""A digest is 64 hexadecimal digits of bytes that were read, and nothing else."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from decision_provenance.digest import Digest, HashCancelled, hash_chunks, hash_file, parse_sha256
from tests.support.bounds import peak_bytes

SOME = hashlib.sha256(b"some").hexdigest()


def test_a_pin_in_upper_case_is_the_same_digest() -> None:
    assert parse_sha256(SOME.upper()) == SOME


@pytest.mark.parametrize("text", [SOME[:63], SOME + "0", "g" * 64, "", f"{SOME}\n", f" {SOME[1:]}", "٣" * 64])
def test_anything_but_64_hexadecimal_digits_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"^pin of m\.gguf is .*64 hexadecimal digits"):
        parse_sha256(text, what="pin of m.gguf")


def test_a_base64_checksum_of_s3_is_no_digest() -> None:
    with pytest.raises(ValueError, match="44 characters"):
        parse_sha256("LCa0a2j/xo/5m0U8HTBBNBNCLXBkg7+g+YpeiGJm564=")


def test_chunks_hash_like_the_whole() -> None:
    assert hash_chunks([b"so", b"", b"me"]) == Digest(SOME, 4)


def test_a_file_hashes_like_its_content_and_tells_its_progress(tmp_path: Path) -> None:
    content = bytes(range(256)) * 10_000
    path = tmp_path / "file"
    path.write_bytes(content)
    seen: list[int] = []

    digest = hash_file(path, on_progress=seen.append)

    assert digest == Digest(hashlib.sha256(content).hexdigest(), len(content))
    assert seen == sorted(seen)
    assert seen[-1] == len(content)


def test_an_empty_file_has_the_digest_of_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    assert hash_file(tmp_path / "file") == Digest(hashlib.sha256().hexdigest(), 0)


def test_hashing_stops_when_it_is_cancelled(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(3 << 20))
    seen: list[int] = []

    with pytest.raises(HashCancelled, match="stopped after 1048576 bytes"):
        hash_file(path, on_progress=seen.append, cancelled=lambda: bool(seen))


def test_hashing_holds_a_few_chunks_whatever_the_size(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(64 << 20)

    assert peak_bytes(lambda: hash_file(path)) < 4 << 20
