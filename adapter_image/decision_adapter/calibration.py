"""Temperatures that somebody measured: how far the probabilities of each kind of question are drawn together."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import msgspec

from decision_adapter.decision import Kind
from decision_adapter.errors import ModelRefused
from decision_provenance.manifest import MANIFEST_NAME

KINDS: tuple[Kind, ...] = get_args(Kind)


@dataclass(frozen=True)
class Calibration:
    """The temperature of each kind of question, above 0; 1 leaves a probability as the model gave it."""

    choice: float = 1.0
    score: float = 1.0
    noul: float = 1.0

    def temperature(self, kind: Kind) -> float:
        """That of one kind."""
        return {"choice": self.choice, "score": self.score, "noul": self.noul}[kind]


class _Manifest(msgspec.Struct):
    calibration: dict[str, Any] | None = None


def read_calibration(model: Path, *, choice: float | None, score: float | None, noul: float | None) -> Calibration:
    """The temperatures of the settings, else those of the package's manifest beside the model, else 1.

    Parameters
    ----------
    model:
        The model's file. `model-manifest.json` beside it may have an object `calibration` with a temperature for any of
        `choice`, `score` and `noul`; a folder without a manifest is a model without calibration.
    choice, score, noul:
        What the environment says, which comes first: it is nearer to whoever runs this endpoint.

    Raises
    ------
    ModelRefused
        If the manifest cannot be read, or a temperature of it is none.
    """
    path = model.with_name(MANIFEST_NAME)
    packaged = _packaged(path) if path.is_file() else {}
    told = {"choice": choice, "score": score, "noul": noul}
    return Calibration(**packaged | {kind: value for kind, value in told.items() if value is not None})


def _packaged(path: Path) -> dict[str, float]:
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_Manifest).calibration or {}
    except OSError as error:
        raise ModelRefused(f"{path} cannot be read: {error.strerror or error}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ModelRefused(f"{path} cannot be used: {error}; package the model again") from error
    for kind, value in found.items():
        if kind not in KINDS or not is_temperature(value):
            raise ModelRefused(
                f"the calibration in {path} has {kind!r}: {value!r}; it takes a number above 0 for any of "
                f"{', '.join(KINDS)}: correct it, or leave it out and set DECISION_TEMPERATURE_…"
            )
    return {kind: float(value) for kind, value in found.items()}


def is_temperature(value: object) -> bool:
    """Whether it is a number above 0 and below infinity.

    >>> [is_temperature(value) for value in (1.5, 1, 0, -1, float("nan"), float("inf"), True, "1")]
    [True, True, False, False, False, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= sys.float_info.max
