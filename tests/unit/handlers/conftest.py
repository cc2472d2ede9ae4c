"""The two handlers as Lambda loads them, and a context with as much time as a test gives."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support.fake_builds import FakeClients
from tests.support.fake_s3 import FakeS3
from tests.support.lambda_code import lambda_module
from tests.support.verified_gguf import KEY, MODEL


class FakeContext:
    """Lambda's context: `milliseconds` are left until someone takes them."""

    def __init__(self, milliseconds: int = 900_000) -> None:
        self.milliseconds = milliseconds

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


@pytest.fixture
def context() -> FakeContext:
    return FakeContext()


@pytest.fixture
def s3() -> FakeS3:
    """A bucket that holds the tiny model, as it was packaged."""
    fake = FakeS3()
    fake.put(KEY, MODEL)
    return fake


@pytest.fixture
def clients() -> FakeClients:
    """The services of a build run, in which nothing was built yet."""
    return FakeClients()


@pytest.fixture
def verified_gguf() -> Iterator[ModuleType]:
    with lambda_module("verified_gguf", "handler") as module:
        yield module


@pytest.fixture
def build_run() -> Iterator[ModuleType]:
    with lambda_module("build_run", "handler") as module:
        yield module
