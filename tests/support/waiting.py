"""Wait for something to come true, with a deadline instead of a fixed sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def wait_for(look: Callable[[], Found | None], *, seconds: float = 30.0, what: str = "the condition") -> Found:
    """Look again and again until there is something to see, and return it."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        assert time.monotonic() < deadline, f"{what} did not come true within {seconds:g} s"
        time.sleep(0.02)
