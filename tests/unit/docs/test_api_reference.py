"""The API reference says what the docstrings say."""

from __future__ import annotations

import pytest

from docs.generate_api import FOLDER, PACKAGES, reference


@pytest.mark.parametrize("package", PACKAGES)
def test_the_page_is_current(package: str) -> None:
    # Else: `make api`.
    assert (FOLDER / f"{package}.md").read_text() == reference(package)
