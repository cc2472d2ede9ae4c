"""Wait for something to come true, with a deadline instead of a fixed sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_SECONDS = 60.0

Found = TypeVar("Found")


def eventually(look: Callable[[], Found | None], what: str, seconds: float = PATIENCE_SECONDS) -> Found:
    """Look again and again until there is something to see, and return it; an error names `what` did not come."""
    deadline = time.monotonic() + seconds
    while True:
        if found := look():
            return found
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.02)
