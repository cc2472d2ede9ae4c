"""A package in one model.tar.gz is verified member by member, in the version that was there at first."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from tests.support.fake_s3 import FakeS3
from tests.support.model_archive import member, packed
from tests.support.verified_gguf import (
    MODEL,
    SHA256,
    Context,
    answer,
    event,
    manifest_of,
    pinned,
    reason,
)

PREFIX = f"models/tiny/{SHA256}-tar/"
KEY = f"{PREFIX}model.tar.gz"
RECORD_KEY = f"verified/tiny/{SHA256}-tar.json"
ARCHIVE = packed(member("m.gguf", MODEL))


@pytest.fixture
def s3() -> FakeS3:
    """A bucket that holds the archive and its manifest."""
    fake = FakeS3()
    fake.put(KEY, ARCHIVE)
    fake.put(f"{PREFIX}model-manifest.json", manifest_of(pinned("m.gguf", MODEL)))
    return fake


def archived() -> dict[str, Any]:
    sent = event()
    sent["ResourceProperties"] |= {"Prefix": PREFIX, "Archive": "model.tar.gz", "RecordKey": RECORD_KEY}
    return sent


def test_an_archive_of_the_pinned_bytes_passes_with_its_own_uri(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    data = answer(verified_gguf, s3, context, archived())["Data"]

    assert (data["S3Uri"], data["Digest"], data["DecisionType"]) == (f"s3://bucket/{KEY}", SHA256, "systemone")


def test_an_archive_is_read_once_and_by_version(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    answer(verified_gguf, s3, context, archived())

    (read,) = [arguments for arguments in s3.named("GetObject") if arguments["Key"] == KEY]
    assert read["VersionId"] == "version-1"


def test_a_verified_archive_is_not_read_again(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    first = answer(verified_gguf, s3, context, archived())
    s3.calls.clear()

    assert answer(verified_gguf, s3, context, archived()) == first
    assert [arguments["Key"] for arguments in s3.named("GetObject")] == [RECORD_KEY]


def test_a_member_with_other_bytes_fails_with_its_name_and_both_digests(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    flipped = MODEL[:-1] + bytes([MODEL[-1] ^ 1])
    s3.put(KEY, packed(member("m.gguf", flipped)))

    text = reason(verified_gguf, s3, context, archived())

    assert text.startswith(f"s3://bucket/{KEY}: member m.gguf has SHA-256 {pinned('m.gguf', flipped).sha256}, ")
    assert SHA256 in text


def test_a_file_beside_the_archive_fails(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(f"{PREFIX}m.gguf", MODEL)

    assert "holds m.gguf, model.tar.gz, the archive is model.tar.gz" in reason(verified_gguf, s3, context, archived())


def test_an_archive_that_is_replaced_while_it_is_read_fails(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    def replace_once() -> None:
        s3.on_open = None
        s3.put(KEY, packed(member("m.gguf", MODEL[::-1])))

    sent = archived()
    del sent["ResourceProperties"]["RecordKey"]
    s3.on_open = replace_once

    assert "changed while it was verified" in reason(verified_gguf, s3, context, sent)


def test_an_archive_that_unpacks_for_too_long_fails_and_says_how_far_it_got(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    size = 8 << 20
    s3.put(KEY, packed(member("m.gguf", bytes(size))))
    sent = archived()
    sent["ResourceProperties"]["Files"] = json.dumps([pinned("m.gguf", bytes(size)).to_json()])
    context.milliseconds = 21_500

    def take_two_seconds() -> None:
        context.milliseconds -= 2_000

    s3.on_read = take_two_seconds

    text = reason(verified_gguf, s3, context, sent)

    assert f"bytes of s3://bucket/{KEY}: nothing was verified" in text
