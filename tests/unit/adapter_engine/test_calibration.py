"""Temperatures come from the environment or the package, and what is no temperature stops the start."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.calibration import Calibration, read_calibration
from decision_adapter.errors import ModelRefused


def packaged(folder: Path, calibration: Any) -> Path:
    text = json.dumps({"format": 1, "name": "m", "calibration": calibration}).replace('"RAW"', "NaN")
    (folder / "model-manifest.json").write_text(text)
    return folder / "m.gguf"


def read(model: Path, **told: float) -> Calibration:
    return read_calibration(model, choice=told.get("choice"), score=told.get("score"), noul=told.get("noul"))


def test_a_model_without_a_manifest_is_not_scaled(tmp_path: Path) -> None:
    assert read(tmp_path / "m.gguf") == Calibration(1.0, 1.0, 1.0)


@pytest.mark.parametrize("calibration", [None, {}])
def test_a_manifest_without_temperatures_is_not_scaled(tmp_path: Path, calibration: object) -> None:
    assert read(packaged(tmp_path, calibration)) == Calibration()


def test_the_packages_temperatures_are_read_and_the_environment_comes_first(tmp_path: Path) -> None:
    model = packaged(tmp_path, {"choice": 1.5, "noul": 2})

    assert read(model) == Calibration(choice=1.5, score=1.0, noul=2.0)
    assert read(model, choice=3.0, score=0.5) == Calibration(choice=3.0, score=0.5, noul=2.0)


def repr_of(value: object) -> str:
    return f"{value!r:.10}"


@pytest.mark.parametrize("value", [0, -1.5, "1.5", True, None, [1], "RAW", 10**400], ids=repr_of)
def test_what_is_no_temperature_is_refused_with_where_it_stands(tmp_path: Path, value: object) -> None:
    with pytest.raises(ModelRefused, match=r"model-manifest\.json"):
        read(packaged(tmp_path, {"choice": value}))


def test_a_kind_that_is_none_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        ModelRefused, match=r"'choices': 1\.5; it takes a number above 0 for any of choice, score, noul"
    ):
        read(packaged(tmp_path, {"choices": 1.5}))


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"[" * 100_000])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model-manifest.json").write_bytes(content)

    with pytest.raises(ModelRefused, match="cannot be used"):
        read(tmp_path / "m.gguf")
