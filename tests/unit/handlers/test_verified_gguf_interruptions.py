"""Bytes that change while they are read, or that do not come in time, are not verified."""

from __future__ import annotations

import threading
from types import ModuleType

import pytest

from tests.support.fake_s3 import FakeS3
from tests.support.verified_gguf import KEY, MODEL, Context, reason


@pytest.mark.parametrize("read", [1, 2])
def test_a_newer_version_that_arrives_during_the_run_fails_though_the_older_one_was_read(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, read: int
) -> None:
    opened: list[int] = []

    def replace_at_the_read() -> None:
        opened.append(1)
        if len(opened) == read:
            s3.put(KEY, MODEL[::-1])

    s3.on_open = replace_at_the_read

    assert "changed while it was verified" in reason(verified_gguf, s3, context)


def test_an_object_that_changes_between_two_looks_fails(verified_gguf: ModuleType, context: Context) -> None:
    s3 = FakeS3(versioned=False)
    s3.put(KEY, MODEL)
    s3.on_open = lambda: s3.put(KEY, MODEL[::-1])

    assert "changed while it was read" in reason(verified_gguf, s3, context)


def test_a_header_that_is_swapped_after_the_hash_fails(verified_gguf: ModuleType, context: Context) -> None:
    s3 = FakeS3(versioned=False)
    s3.put(KEY, MODEL)
    opened: list[int] = []

    def swap_before_the_second_read() -> None:
        opened.append(1)
        if len(opened) == 2:
            s3.put(KEY, MODEL[::-1])

    s3.on_open = swap_before_the_second_read

    assert "changed while it was read" in reason(verified_gguf, s3, context)


def test_a_run_that_nears_its_end_fails_and_says_how_far_it_got(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    context.milliseconds = 21_500

    def take_two_seconds() -> None:
        context.milliseconds -= 2_000

    s3.on_read = take_two_seconds

    text = reason(verified_gguf, s3, context)

    assert f"of {len(MODEL)} bytes of s3://bucket/{KEY}: nothing was verified" in text


def test_a_run_without_time_fails_at_once(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    context.milliseconds = 5_000

    assert "nothing was verified" in reason(verified_gguf, s3, context)


def test_a_store_that_never_answers_fails_in_time(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    context.milliseconds = 20_200
    release = threading.Event()

    def hang() -> None:
        release.wait(60)

    s3.on_read = hang

    try:
        assert "did not answer in the time" in reason(verified_gguf, s3, context)
    finally:
        release.set()
