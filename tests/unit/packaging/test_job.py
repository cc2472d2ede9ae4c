"""A package is the pinned bytes with a manifest, written once, or it is not there at all."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from decision_client.packaging import write_once
from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.job import package
from decision_client.packaging.settings import read_settings
from decision_provenance.manifest import Manifest
from decision_provenance.s3_object import ObjectRefused
from tests.support.fake_s3 import FakeS3, client_error
from tests.support.gguf_header import GgufFile

MODEL = GgufFile().content()
SHA256 = hashlib.sha256(MODEL).hexdigest()
PREFIX = f"models/tiny/{SHA256}/"
KEY = f"{PREFIX}m.gguf"
MANIFEST_KEY = f"{PREFIX}model-manifest.json"


def run(s3: FakeS3, environment: dict[str, str], folder: Path) -> list[str]:
    """Package, and return what was said; the folder must be left as it was."""
    said: list[str] = []
    try:
        package(read_settings(environment), s3.client, folder=folder, say=said.append)
    finally:
        assert list(folder.iterdir()) == []
    return said


def refusal(s3: FakeS3, environment: dict[str, str], folder: Path) -> str:
    """Why nothing was packaged, and nothing was."""
    before = s3.keys()
    with pytest.raises((PackagingRefused, ObjectRefused)) as refused:
        run(s3, environment, folder)
    assert s3.keys() == before
    assert s3.uploads == {}
    return str(refused.value)


def test_the_pinned_bytes_arrive_with_a_manifest(s3: FakeS3, environment: dict[str, str], tmp_path: Path) -> None:
    said = run(s3, environment, tmp_path)

    assert s3.get(KEY) == MODEL
    manifest = Manifest.from_bytes(s3.get(MANIFEST_KEY))
    assert (manifest.name, manifest.digest, manifest.facts.architecture) == ("tiny", SHA256, "llama")
    assert manifest.source == {"kind": "local"}
    assert said[-1] == f"packaged s3://bucket/{PREFIX}"


def test_the_manifest_is_written_last_and_everything_only_once(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    run(s3, environment, tmp_path)

    writes = s3.named("PutObject")
    assert [write["Key"] for write in writes] == [KEY, MANIFEST_KEY]
    assert all(write["IfNoneMatch"] == "*" for write in writes)


def test_one_put_gives_s3_the_digest_of_the_whole_object(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    run(s3, environment, tmp_path)

    assert base64.b64decode(s3.named("PutObject")[0]["ChecksumSHA256"]).hex() == SHA256


def test_two_runs_give_the_same_manifest_bytes(environment: dict[str, str], tmp_path: Path) -> None:
    manifests = []
    for key in ("asset-of-one-account", "asset-of-another"):
        s3 = FakeS3()
        s3.put(key, MODEL)
        source = json.loads(environment["SOURCE"]) | {"keys": {"m.gguf": key}}
        run(s3, environment | {"SOURCE": json.dumps(source)}, tmp_path)
        manifests.append(s3.get(MANIFEST_KEY))

    assert manifests[0] == manifests[1]


def test_a_package_that_is_complete_is_left_alone(s3: FakeS3, environment: dict[str, str], tmp_path: Path) -> None:
    run(s3, environment, tmp_path)
    s3.calls.clear()

    said = run(s3, environment, tmp_path)

    assert "nothing to do" in said[-1]
    assert s3.named("PutObject") == []


def test_a_run_that_was_interrupted_before_the_manifest_is_taken_up(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    s3.put(KEY, MODEL)

    run(s3, environment, tmp_path)

    assert [write["Key"] for write in s3.named("PutObject")] == [MANIFEST_KEY]


def test_a_model_that_is_gone_from_a_finished_package_is_put_back(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    run(s3, environment, tmp_path)
    del s3.versions[KEY]

    run(s3, environment, tmp_path)

    assert s3.get(KEY) == MODEL


def test_other_bytes_under_the_key_are_refused_by_their_hash_and_kept(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    s3.put(KEY, MODEL[::-1])

    text = refusal(s3, environment, tmp_path)

    assert text.startswith(f"s3://bucket/{KEY} is there already and has SHA-256")
    assert s3.get(KEY) == MODEL[::-1]


def test_a_writer_that_was_faster_with_the_same_bytes_is_no_failure(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = s3.put_object

    def race(**arguments: Any) -> dict[str, Any]:
        s3.put(arguments["Key"], MODEL if arguments["Key"] == KEY else arguments["Body"])
        return put(**arguments)

    monkeypatch.setattr(s3, "put_object", race)

    assert run(s3, environment, tmp_path)[-1].startswith("packaged")


@pytest.mark.parametrize("content", [b"{}", b"other"])
def test_a_manifest_of_something_else_is_refused(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path, content: bytes
) -> None:
    s3.put(MANIFEST_KEY, content)

    assert MANIFEST_KEY in refusal(s3, environment, tmp_path)


def test_a_wrong_digest_stops_the_job_with_both_digests(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    pin = environment["PIN"].replace(SHA256, "00" * 32)

    text = refusal(s3, environment | {"PIN": pin}, tmp_path)

    assert text.startswith(f"m.gguf has SHA-256 {SHA256}, the pin says {'00' * 32}: ")


def test_a_wrong_length_stops_the_job_before_anything_is_read(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    s3.put("asset.gguf", MODEL + b"\0")

    assert f"m.gguf has {len(MODEL) + 1} bytes, the pin says {len(MODEL)}" in refusal(s3, environment, tmp_path)
    assert [call for call in s3.named("GetObject") if call["Bucket"] == "assets"] == []


def test_a_source_that_ends_early_stops_the_job(s3: FakeS3, environment: dict[str, str], tmp_path: Path) -> None:
    s3.lost_bytes = 1

    assert "ended after" in refusal(s3, environment, tmp_path)


def test_a_source_that_is_gone_stops_the_job(environment: dict[str, str], tmp_path: Path) -> None:
    assert "s3://assets/asset.gguf, the upload of m.gguf, is gone" in refusal(FakeS3(), environment, tmp_path)


def test_pinned_bytes_that_are_no_model_stop_the_job(environment: dict[str, str], tmp_path: Path) -> None:
    content = b"FUGG" + MODEL[4:]
    s3 = FakeS3()
    s3.put("asset.gguf", content)
    pin = environment["PIN"].replace(SHA256, hashlib.sha256(content).hexdigest())

    assert "GGUF refused at byte 0" in refusal(s3, environment | {"PIN": pin}, tmp_path)


def test_a_file_of_another_name_than_the_pin_stops_the_job(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    pin = environment["PIN"].replace("m.gguf", "n.gguf")

    assert "the pin lists n.gguf, the local source is m.gguf" in refusal(s3, environment | {"PIN": pin}, tmp_path)


def test_a_disk_that_is_too_small_stops_the_job_before_anything_is_read(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    pin = [{"name": "m.gguf", "sha256": SHA256, "bytes": 1 << 60}]

    assert "bytes free" in refusal(s3, environment | {"PIN": json.dumps(pin)}, tmp_path)


def test_a_bucket_that_may_not_be_written_stops_the_job_with_what_it_takes(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path
) -> None:
    s3.refused["PutObject"] = client_error("PutObject", 403, "AccessDenied")

    assert "s3:PutObject" in refusal(s3, environment, tmp_path)


@pytest.fixture
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(write_once, "SINGLE_PUT_LIMIT_BYTES", 100)
    monkeypatch.setattr(write_once, "PART_BYTES", 100)


@pytest.mark.usefixtures("in_parts")
def test_a_large_model_arrives_in_parts_and_only_once(s3: FakeS3, environment: dict[str, str], tmp_path: Path) -> None:
    run(s3, environment, tmp_path)

    assert s3.get(KEY) == MODEL
    assert len(s3.named("UploadPart")) == -(-len(MODEL) // 100)
    assert s3.named("CompleteMultipartUpload")[0]["IfNoneMatch"] == "*"
    assert s3.uploads == {}


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("operation", ["UploadPart", "CompleteMultipartUpload"])
def test_a_part_that_fails_leaves_no_upload_behind(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path, operation: str
) -> None:
    s3.refused[operation] = client_error(operation, 503, "SlowDown")

    assert "SlowDown" in refusal(s3, environment, tmp_path)
    assert len(s3.named("AbortMultipartUpload")) == 1


@pytest.mark.usefixtures("in_parts")
def test_a_build_that_is_stopped_leaves_no_upload_and_no_file_behind(
    s3: FakeS3, environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(**_: object) -> None:
        raise SystemExit(143)

    monkeypatch.setattr(s3, "upload_part", stop)

    with pytest.raises(SystemExit):
        run(s3, environment, tmp_path)
    assert s3.uploads == {}
