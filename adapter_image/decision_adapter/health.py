"""How the engine is, as /ping tells it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where the engine is in its life."""

    LOADING = "loading"
    READY = "ready"
    REFUSED = "refused"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Health:
    """What /ping says: `serving` or not, and why not, in a sentence. `retryable`: whether time may mend it."""

    serving: bool
    state: State
    reason: str = ""
    retryable: bool = True
