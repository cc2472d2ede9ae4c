"""A package is exactly the pinned files: one model, whole or in shards, and a manifest that says so."""

from __future__ import annotations

from types import ModuleType

import pytest

from decision_provenance.manifest import package_digest
from tests.support.fake_s3 import FakeS3
from tests.support.verified_gguf import (
    MODEL,
    PREFIX,
    SHA256,
    Context,
    answer,
    event,
    manifest_of,
    pinned,
    reason,
    shards,
)


@pytest.mark.parametrize("extra", ["n.gguf", "mmproj-f16.gguf", "README.md", "deeper/m.gguf"])
def test_a_file_more_than_pinned_fails_with_what_was_seen(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, extra: str
) -> None:
    s3.put(f"{PREFIX}{extra}", b"x")

    text = reason(verified_gguf, s3, context)

    assert extra in text
    assert "the pin lists m.gguf" in text


def test_an_empty_prefix_fails(verified_gguf: ModuleType, context: Context) -> None:
    assert "holds nothing, the pin lists m.gguf" in reason(verified_gguf, FakeS3(), context)


def split_store(contents: list[tuple[str, bytes]]) -> FakeS3:
    s3 = FakeS3()
    for name, content in contents:
        s3.put(f"{PREFIX}{name}", content)
    return s3


def test_a_split_model_passes_as_one(verified_gguf: ModuleType, context: Context) -> None:
    files = [pinned(name, content) for name, content in shards()]

    data = answer(verified_gguf, split_store(shards()), context, event(*files))["Data"]

    assert (data["SplitCount"], data["ParameterCount"]) == ("2", "48")
    assert data["Digest"] == package_digest(files)


def test_shards_that_are_pinned_in_another_order_fail(verified_gguf: ModuleType, context: Context) -> None:
    files = [pinned(name, content) for name, content in reversed(shards())]

    assert "in this order" in reason(verified_gguf, split_store(shards()), context, event(*files))


def test_a_shard_that_is_missing_fails(verified_gguf: ModuleType, context: Context) -> None:
    files = [pinned(name, content) for name, content in shards()]

    assert "holds m-00001" in reason(verified_gguf, split_store(shards()[:1]), context, event(*files))


def test_shards_whose_headers_are_swapped_fail(verified_gguf: ModuleType, context: Context) -> None:
    (one, first), (two, second) = shards()
    swapped = [(one, second), (two, first)]
    files = [pinned(name, content) for name, content in swapped]

    assert "in order" in reason(verified_gguf, split_store(swapped), context, event(*files))


def test_a_manifest_that_agrees_with_the_pin_passes(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(f"{PREFIX}model-manifest.json", manifest_of(pinned("m.gguf", MODEL)))

    assert answer(verified_gguf, s3, context, event())["Status"] == "SUCCESS"


def test_a_manifest_of_another_package_fails_with_both_digests(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    other = pinned("m.gguf", b"other")
    s3.put(f"{PREFIX}model-manifest.json", manifest_of(other))

    text = reason(verified_gguf, s3, context)

    assert other.sha256 in text
    assert SHA256 in text


def test_a_manifest_that_is_none_fails(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(f"{PREFIX}model-manifest.json", b"{")

    assert "model-manifest.json: a model manifest is not JSON" in reason(verified_gguf, s3, context)


def test_files_of_a_tokenizer_are_compared_too_and_belong_to_the_digest(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    files = [pinned("m.gguf", MODEL), pinned("tokenizer.json", b"{}")]
    s3.put(f"{PREFIX}tokenizer.json", b"{}")
    assert answer(verified_gguf, s3, context, event(*files))["Data"]["Digest"] == package_digest(files)

    s3.put(f"{PREFIX}tokenizer.json", b"[]")

    assert "tokenizer.json has SHA-256" in reason(verified_gguf, s3, context, event(*files))
