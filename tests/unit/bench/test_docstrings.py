from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from tests.bench import figures, report, watch


@pytest.mark.parametrize("module", [figures, report, watch])
def test_the_examples_of_a_docstring_hold(module: ModuleType) -> None:
    failed, tried = doctest.testmod(module)

    assert (failed, tried > 0) == (0, True)
