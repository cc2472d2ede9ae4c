"""Bounds on what a call may cost, loose enough for a busy machine and tight enough to catch what never ends."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def within_seconds(seconds: float, call: Callable[[], Result]) -> Result:
    """The call's result, or what it raised; an AssertionError if it takes longer."""
    outcome: list[Callable[[], Result]] = []

    def run() -> None:
        try:
            result = call()
        except Exception as error:  # noqa: BLE001 - raised again in the test's own thread
            raised = error
            outcome.append(lambda: (_ for _ in ()).throw(raised))
        else:
            outcome.append(lambda: result)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert outcome, f"the call did not end within {seconds} s"
    return outcome[0]()


def peak_bytes(call: Callable[[], object]) -> int:
    """The most memory that the call held at once, beyond what was there before."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
