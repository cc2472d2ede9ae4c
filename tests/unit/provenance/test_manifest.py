"""A manifest is the same bytes for the same package, and is believed only where it agrees with itself."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import Manifest, PackagedFile, model_files, model_prefix, package_digest, read_pin

FACTS = GgufFacts(version=3, architecture="llama", parameter_count=24, tensor_count=2)
FILE = PackagedFile("m.gguf", "ab" * 32, 5)
TOKENIZER = PackagedFile("tokenizer.json", "ef" * 32, 9)
SHARDS = (PackagedFile("m-00001-of-00002.gguf", "ab" * 32, 5), PackagedFile("m-00002-of-00002.gguf", "cd" * 32, 7))


def manifest(*files: PackagedFile) -> Manifest:
    return Manifest("tiny", {"kind": "local", "file": "m.gguf"}, files or (FILE,), FACTS, {})


def document() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(manifest().to_bytes())
    return loaded


def test_a_package_of_one_file_is_called_by_that_files_digest() -> None:
    assert manifest().digest == FILE.sha256
    assert manifest().prefix == f"models/tiny/{FILE.sha256}/"


def test_a_package_of_shards_is_called_by_the_digest_of_their_sha256sum_listing() -> None:
    listing = f"{'ab' * 32}  m-00001-of-00002.gguf\n{'cd' * 32}  m-00002-of-00002.gguf\n"

    assert package_digest(SHARDS) == hashlib.sha256(listing.encode()).hexdigest()


def test_a_tokenizer_is_part_of_the_package_and_not_of_the_model() -> None:
    listing = f"{FILE.sha256}  m.gguf\n{TOKENIZER.sha256}  tokenizer.json\n"

    assert package_digest([FILE, TOKENIZER]) == hashlib.sha256(listing.encode()).hexdigest()
    assert package_digest(model_files([FILE, TOKENIZER])) == FILE.sha256


def test_an_archive_lies_beside_the_files_of_the_same_package() -> None:
    assert model_prefix("tiny", FILE.sha256, archived=True) == f"models/tiny/{FILE.sha256}-tar/"


def test_the_same_package_has_the_same_bytes_whatever_the_order_of_its_names() -> None:
    one = manifest()
    other = Manifest("tiny", {"file": "m.gguf", "kind": "local"}, (FILE,), FACTS, {})

    assert one.to_bytes() == other.to_bytes()
    assert one.to_bytes().endswith(b"}\n")


def test_a_manifest_survives_its_bytes() -> None:
    for original in (manifest(), manifest(*SHARDS), manifest(FILE, TOKENIZER)):
        assert Manifest.from_bytes(original.to_bytes()) == original


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "00" * 32},
        {"digest": None},
        {"format": 2},
        {"extra": 1},
        {"name": "../up"},
        {"name": 5},
        {"files": []},
        {"files": "m.gguf"},
        {"files": [{"name": "m.gguf", "sha256": "ab", "bytes": 5}]},
        {"files": [{"name": "x/m.gguf", "sha256": "ab" * 32, "bytes": 5}]},
        {"files": [{"name": "m.gguf", "sha256": "ab" * 32, "bytes": 5, "link": "/etc"}]},
        {"facts": {}},
        {"source": {"kind": 1}},
        {"tools": []},
    ],
)
def test_a_manifest_that_does_not_agree_with_itself_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"\w+"):
        Manifest.from_bytes(json.dumps({**document(), **change}).encode())


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"\xff", b"[" * 100_000, b" " * ((1 << 20) + 1)])
def test_content_that_is_no_manifest_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="model manifest"):
        Manifest.from_bytes(content)


@pytest.mark.parametrize(
    "name", ["", ".gguf", "-m.gguf", "../m.gguf", "a/m.gguf", "a\\m.gguf", "a b.gguf", "m.gguf\n", "é.gguf", "a" * 201]
)
def test_a_file_name_that_needs_quoting_anywhere_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="rename the file"):
        PackagedFile(name, "ab" * 32, 5)


@pytest.mark.parametrize("count", [0, -1, True, 1.5, "5"])
def test_a_length_that_is_no_positive_whole_number_is_refused(count: Any) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        PackagedFile("m.gguf", "ab" * 32, count)


def test_everything_wrong_with_a_file_is_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"rename the file; m gguf has 0 bytes: .*; SHA-256 of m gguf is 'ab'"):
        PackagedFile("m gguf", "ab", 0)


def test_a_pin_in_upper_case_is_the_pin_in_lower_case() -> None:
    text = json.dumps([{"name": "m.gguf", "sha256": "AB" * 32, "bytes": 5}])

    assert read_pin(text) == (FILE,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("{}", "give a list"),
        ("[]", "no model"),
        ('["m.gguf"]', "object of name, sha256 and bytes"),
        (json.dumps([FILE.to_json() | {"sha256": "ab" * 31 + "a"}]), "63 characters"),
        (json.dumps([FILE.to_json(), FILE.to_json() | {"name": "n.gguf"}]), "2 models"),
        (json.dumps([file.to_json() for file in reversed(SHARDS)]), "in this order: m-00001"),
        (json.dumps([SHARDS[0].to_json()]), "misses m-00002"),
        (json.dumps([FILE.to_json(), FILE.to_json()]), "m.gguf"),
        (json.dumps([FILE.to_json(), FILE.to_json() | {"name": "mmproj-f16.gguf"}]), "neither part of the model"),
        (json.dumps([FILE.to_json(), FILE.to_json() | {"name": "model-manifest.json"}]), "neither part of the model"),
        (json.dumps([FILE.to_json(), FILE.to_json() | {"name": "model.tar.gz"}]), "neither part of the model"),
        (json.dumps([TOKENIZER.to_json()]), "no model"),
        (json.dumps([TOKENIZER.to_json(), FILE.to_json()]), "in this order: m.gguf, tokenizer.json"),
    ],
)
def test_a_pin_that_is_not_one_whole_model_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_pin(text)


@pytest.mark.parametrize("name", ["", "..", "a/b", "-a", "a b", "a" * 65, "ä"])
def test_a_model_name_that_would_change_the_key_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="model name"):
        model_prefix(name, "ab" * 32)
