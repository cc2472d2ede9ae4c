"""The cap on the start-up window comes from the environment, and a bad one says so."""

from __future__ import annotations

import pytest

from local_cloud.sagemaker.startup_cap import VARIABLE, startup_cap


def test_the_cap_is_two_minutes_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)

    assert startup_cap() == 120


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", "inf"])
def test_a_cap_that_is_no_positive_number_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)

    with pytest.raises(ValueError, match=f"{VARIABLE} is '{text}'"):
        startup_cap()
