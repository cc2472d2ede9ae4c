"""A folder for `PYTHONPATH`: interpreters that start with it see installed packages but not this checkout."""

from __future__ import annotations

from pathlib import Path

FOLDER = str(Path(__file__).resolve().parent)
