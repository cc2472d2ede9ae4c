"""The cap on a container's start-up window: nobody waits SageMaker's minutes for a local container that never comes."""

from __future__ import annotations

import os

VARIABLE = "LOCAL_CLOUD_STARTUP_SECONDS"
_DEFAULT_SECONDS = 120.0


def startup_cap() -> float:
    """The most seconds that a container may take to its first good `/ping`. Default: 120.

    Raises
    ------
    ValueError
        If `LOCAL_CLOUD_STARTUP_SECONDS` is no positive number.
    """
    text = os.environ.get(VARIABLE) or str(_DEFAULT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{VARIABLE} is {text!r}; give a positive number of seconds, or unset it for 120")
    return seconds
