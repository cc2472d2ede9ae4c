"""Wherever the files come from, and however they are packed, the package is the pinned bytes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from decision_client.packaging import hub_download, write_once
from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.job import package
from decision_client.packaging.settings import read_settings
from decision_provenance.archive import verify_archive
from decision_provenance.manifest import Manifest, PackagedFile, package_digest
from tests.support.fake_hub import Answer, FakeHub
from tests.support.fake_s3 import FakeS3, client_error
from tests.support.gguf_header import GgufFile
from tests.support.verified_gguf import shards

MODEL = GgufFile().content()
TOKENIZER = b'{"version": "1.0"}'
REVISION = "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"
OTHER_REVISION = "851bf6e806efd8d0a36b00ddf55e13ccb7b8cd0a"
FILES = {"m.gguf": MODEL, "tokenizer.json": TOKENIZER}


def pinned(contents: dict[str, bytes]) -> tuple[PackagedFile, ...]:
    return tuple(
        PackagedFile(name, hashlib.sha256(content).hexdigest(), len(content)) for name, content in contents.items()
    )


PREFIX = f"models/tiny/{package_digest(pinned(FILES))}/"
TAR_PREFIX = f"{PREFIX.rstrip('/')}-tar/"


def environment(source: dict[str, Any], contents: dict[str, bytes], **more: str) -> dict[str, str]:
    return {
        "SOURCE": json.dumps(source),
        "MODEL_NAME": "tiny",
        "PIN": json.dumps([file.to_json() for file in pinned(contents)]),
        "BUCKET": "bucket",
        **more,
    }


def run(s3: FakeS3, told: dict[str, str], folder: Path) -> None:
    try:
        package(read_settings(told), s3.client, folder=folder, say=lambda _: None)
    finally:
        assert list(folder.iterdir()) == []


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_download, "sleep", lambda _: None)
    monkeypatch.setattr(hub_download, "PIECE_BYTES", 100)


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub(
        {
            f"/owner/model/resolve/{REVISION}/Q8_0/m.gguf": MODEL,
            f"/owner/other/resolve/{OTHER_REVISION}/tokenizer.json": TOKENIZER,
        }
    ) as hub:
        yield hub


def of(hub: FakeHub) -> dict[str, Any]:
    return {
        "kind": "huggingface",
        "endpoint": hub.url,
        "repository": "owner/model",
        "revision": REVISION,
        "folder": "Q8_0",
        "tokenizer": {"repository": "owner/other", "revision": OTHER_REVISION},
    }


def test_a_model_and_its_tokenizer_come_from_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    s3 = FakeS3()
    hub.script = [Answer(cut=300)]

    run(s3, environment(of(hub), FILES), tmp_path)

    assert {name: s3.get(PREFIX + name) for name in FILES} == FILES
    manifest = Manifest.from_bytes(s3.get(f"{PREFIX}model-manifest.json"))
    assert manifest.source == {
        "kind": "huggingface",
        "repository": "owner/model",
        "revision": REVISION,
        "folder": "Q8_0",
        "tokenizer_repository": "owner/other",
        "tokenizer_revision": OTHER_REVISION,
    }


def test_a_file_of_the_hub_with_other_bytes_is_refused_and_nothing_is_written(hub: FakeHub, tmp_path: Path) -> None:
    s3 = FakeS3()
    hub.script = [Answer(body=MODEL[::-1])]

    with pytest.raises(PackagingRefused, match=r"m\.gguf has SHA-256 .*, the pin says .*: correct the pin"):
        run(s3, environment(of(hub), FILES), tmp_path)
    assert s3.keys() == []


@pytest.mark.parametrize("archive", ["false", "true"])
def test_two_people_make_the_same_package_of_the_same_pin(hub: FakeHub, tmp_path: Path, archive: str) -> None:
    packages = []
    with FakeHub(hub.files) as mirror:
        for endpoint in (hub, mirror):
            s3 = FakeS3()
            run(s3, environment(of(endpoint), FILES, ARCHIVE=archive), tmp_path)
            packages.append(s3.versions)

    assert packages[0] == packages[1]


def test_an_archive_holds_all_files_and_has_its_manifest_beside_it(hub: FakeHub, tmp_path: Path) -> None:
    s3 = FakeS3()

    run(s3, environment(of(hub), FILES, ARCHIVE="true"), tmp_path)

    assert s3.keys() == [f"{TAR_PREFIX}model-manifest.json", f"{TAR_PREFIX}model.tar.gz"]
    verify_archive([s3.get(f"{TAR_PREFIX}model.tar.gz")], pinned(FILES), where="model.tar.gz")
    assert Manifest.from_bytes(s3.get(f"{TAR_PREFIX}model-manifest.json")).files == pinned(FILES)


def test_an_archive_that_is_there_is_left_alone(hub: FakeHub, tmp_path: Path) -> None:
    s3 = FakeS3()
    told = environment(of(hub), FILES, ARCHIVE="true")
    run(s3, told, tmp_path)
    hub.requests.clear()

    run(s3, told, tmp_path)

    assert hub.requests == []


def test_an_archive_that_cannot_be_completed_leaves_nothing(
    hub: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_once, "SINGLE_PUT_LIMIT_BYTES", 100)
    s3 = FakeS3()
    s3.refused["CompleteMultipartUpload"] = client_error("CompleteMultipartUpload", 503, "SlowDown")

    with pytest.raises(PackagingRefused, match="SlowDown"):
        run(s3, environment(of(hub), FILES, ARCHIVE="true"), tmp_path)
    assert (s3.keys(), s3.uploads) == ([], {})


def test_shards_of_a_bucket_are_packaged_as_they_are(tmp_path: Path) -> None:
    contents = dict(shards())
    s3 = FakeS3()
    for name, content in contents.items():
        s3.put(f"incoming/{name}", content)

    run(s3, environment({"kind": "s3", "bucket": "theirs", "prefix": "incoming/"}, contents), tmp_path)

    prefix = f"models/tiny/{package_digest(pinned(contents))}/"
    assert {name: s3.get(prefix + name) for name in contents} == contents
    manifest = Manifest.from_bytes(s3.get(f"{prefix}model-manifest.json"))
    assert manifest.source == {"kind": "s3", "bucket": "theirs", "prefix": "incoming/"}
    assert manifest.facts.split_count == 2


def test_a_file_that_is_not_in_the_bucket_is_named(tmp_path: Path) -> None:
    source = {"kind": "s3", "bucket": "theirs", "prefix": "incoming/"}

    with pytest.raises(PackagingRefused, match=r"s3://theirs/incoming/m\.gguf is not there: correct the pin, or put"):
        run(FakeS3(), environment(source, FILES), tmp_path)


def test_a_package_made_from_elsewhere_keeps_its_manifest_when_a_file_is_put_back(hub: FakeHub, tmp_path: Path) -> None:
    s3 = FakeS3()
    run(s3, environment(of(hub), FILES), tmp_path)
    before = s3.get(f"{PREFIX}model-manifest.json")
    del s3.versions[f"{PREFIX}m.gguf"]
    for name, content in FILES.items():
        s3.put(name, content)

    run(s3, environment({"kind": "s3", "bucket": "theirs", "prefix": ""}, FILES), tmp_path)

    assert s3.get(f"{PREFIX}m.gguf") == MODEL
    assert s3.get(f"{PREFIX}model-manifest.json") == before
