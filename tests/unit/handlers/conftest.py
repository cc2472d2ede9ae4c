"""The two handlers as Lambda loads them, and a context with as much time as a test gives."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from tests.support.lambda_code import lambda_module


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
def verified_gguf() -> Iterator[ModuleType]:
    with lambda_module("verified_gguf", "handler") as module:
        yield module


@pytest.fixture
def build_run() -> Iterator[ModuleType]:
    with lambda_module("build_run", "handler") as module:
        yield module
