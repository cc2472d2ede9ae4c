"""What was verified once is not read again, for as long as exactly the same versions of the objects lie there."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from decision_provenance.manifest import PackagedFile
from tests.support.fake_s3 import FakeS3, client_error
from tests.support.verified_gguf import (
    KEY,
    MODEL,
    PREFIX,
    SHA256,
    Context,
    answer,
    event,
    manifest_of,
    pinned,
    reason,
)

RECORD_KEY = f"verified/tiny/{SHA256}.json"
MANIFEST_KEY = f"{PREFIX}model-manifest.json"


@pytest.fixture
def s3() -> FakeS3:
    """A package with its manifest."""
    fake = FakeS3()
    fake.put(KEY, MODEL)
    fake.put(MANIFEST_KEY, manifest_of(pinned("m.gguf", MODEL)))
    return fake


def recording(*files: PackagedFile, **changes: Any) -> dict[str, Any]:
    sent = event(*files, **changes)
    sent["ResourceProperties"]["RecordKey"] = RECORD_KEY
    return sent


def read_keys(s3: FakeS3) -> list[str]:
    return [arguments["Key"] for arguments in s3.named("GetObject")]


def test_a_second_call_gives_the_same_answer_and_reads_the_record_alone(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    first = answer(verified_gguf, s3, context, recording())
    s3.calls.clear()

    again = answer(verified_gguf, s3, context, recording())

    assert again == first
    assert first["Status"] == "SUCCESS"
    assert read_keys(s3) == [RECORD_KEY]


def test_a_second_call_takes_no_time_that_hashing_would(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    answer(verified_gguf, s3, context, recording())
    bodies: list[int] = []
    s3.on_read = lambda: bodies.append(1)

    answer(verified_gguf, s3, context, recording(request_type="Update", PhysicalResourceId="verified-gguf/other"))

    assert len(bodies) == 2, "the record, and its end"


def test_the_record_says_what_was_read_and_in_which_versions(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    answer(verified_gguf, s3, context, recording())

    record = json.loads(s3.get(RECORD_KEY))
    assert record["digest"] == SHA256
    assert record["files"] == [pinned("m.gguf", MODEL).to_json()]
    assert [(one["key"], one["version_id"], one["bytes"]) for one in record["objects"]] == [
        (KEY, "version-1", len(MODEL)),
        (MANIFEST_KEY, "version-1", len(s3.get(MANIFEST_KEY))),
    ]
    assert record["facts"]["architecture"] == "llama"


def test_without_a_place_for_it_no_record_is_written(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    answer(verified_gguf, s3, context, event())

    assert s3.named("PutObject") == []


def test_a_byte_that_changed_since_the_record_fails_with_both_digests(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    answer(verified_gguf, s3, context, recording())
    flipped = MODEL[:-1] + bytes([MODEL[-1] ^ 1])
    s3.put(KEY, flipped)

    text = reason(verified_gguf, s3, context, recording())

    assert f"s3://bucket/{KEY} has SHA-256 {pinned('m.gguf', flipped).sha256}, the pin says {SHA256}" in text


def test_the_same_bytes_in_a_new_version_are_read_again(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    answer(verified_gguf, s3, context, recording())
    s3.put(KEY, MODEL)
    s3.calls.clear()

    assert answer(verified_gguf, s3, context, recording())["Status"] == "SUCCESS"
    assert KEY in read_keys(s3)
    assert json.loads(s3.get(RECORD_KEY))["objects"][0]["version_id"] == "version-2"


def _replaced(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda record: record.update({name: value})


def _in_object(name: str, value: object) -> Callable[[dict[str, Any]], None]:
    return lambda record: record["objects"][0].update({name: value})


CHANGES = {
    "format": _replaced("format", 2),
    "prefix": _replaced("prefix", "models/tiny/other/"),
    "files": _replaced("files", [pinned("m.gguf", b"other").to_json()]),
    "no files": _replaced("files", []),
    "facts": _replaced("facts", {"architecture": "llama"}),
    "extra": _replaced("extra", ""),
    "no objects": _replaced("objects", []),
    "objects": _replaced("objects", "all of them"),
    "version": _in_object("version_id", "version-2"),
    "null version": _in_object("version_id", "null"),
    "no version": _in_object("version_id", None),
    "etag": _in_object("etag", '"00"'),
    "length": _in_object("bytes", 5),
    "length as text": _in_object("bytes", "5"),
    "key": _in_object("key", f"{PREFIX}n.gguf"),
    "extra in object": _in_object("extra", ""),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_a_record_that_says_anything_else_is_passed_over(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, change: Callable[[dict[str, Any]], None]
) -> None:
    answer(verified_gguf, s3, context, recording())
    record = json.loads(s3.get(RECORD_KEY))
    change(record)
    s3.put(RECORD_KEY, json.dumps(record).encode())
    s3.calls.clear()

    assert answer(verified_gguf, s3, context, recording())["Status"] == "SUCCESS"
    assert KEY in read_keys(s3)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000], ids=ascii)
def test_a_record_that_is_none_is_passed_over(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, content: bytes
) -> None:
    s3.put(RECORD_KEY, content)

    assert answer(verified_gguf, s3, context, recording())["Status"] == "SUCCESS"
    assert KEY in read_keys(s3)


def test_a_manifest_that_appeared_since_the_record_is_read(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    del s3.versions[MANIFEST_KEY]
    answer(verified_gguf, s3, context, recording())
    s3.put(MANIFEST_KEY, b"{")

    assert "a model manifest is not JSON" in reason(verified_gguf, s3, context, recording())


def test_a_file_that_appeared_since_the_record_fails(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    answer(verified_gguf, s3, context, recording())
    s3.put(f"{PREFIX}n.gguf", b"x")

    assert "holds m.gguf, n.gguf" in reason(verified_gguf, s3, context, recording())


def test_objects_without_versions_are_read_every_time(verified_gguf: ModuleType, context: Context) -> None:
    s3 = FakeS3(versioned=False)
    s3.put(KEY, MODEL)

    for _ in range(2):
        s3.calls.clear()
        assert answer(verified_gguf, s3, context, recording())["Status"] == "SUCCESS"
        assert KEY in read_keys(s3)
        assert s3.named("PutObject") == []


def test_a_record_that_cannot_be_written_fails_and_says_what_is_missing(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    s3.refused["PutObject"] = client_error("PutObject", 403, "AccessDenied")

    text = reason(verified_gguf, s3, context, recording())

    assert f"its record s3://bucket/{RECORD_KEY} could not be written (AccessDenied)" in text


@pytest.mark.parametrize("recorded", [False, True], ids=["first", "again"])
def test_a_run_that_loses_s3_at_any_call_fails(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, recorded: bool
) -> None:
    if recorded:
        answer(verified_gguf, s3, context, recording())
    s3.calls.clear()
    answer(verified_gguf, s3, context, recording())
    count = len(s3.calls)
    if not recorded:
        del s3.versions[RECORD_KEY]

    for number in range(1, count + 1):
        s3.calls.clear()
        s3.broken_call = number
        assert "was not answered" in reason(verified_gguf, s3, context, recording())
    assert count >= 4
