"""The examples in the docstrings are true."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize("module", ["profile", "prompt", "slots"])
def test_the_examples_of_a_module_hold(module: str) -> None:
    results = doctest.testmod(importlib.import_module(f"decision_adapter.{module}"))

    assert results.attempted
    assert not results.failed
