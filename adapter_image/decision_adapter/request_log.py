"""The process's log: one JSON object a line on stdout, for filters and for people, never with a caller's text."""

from __future__ import annotations

import sys
import threading
import traceback
from dataclasses import dataclass
from typing import TextIO

import msgspec

Field = str | int | float | bool | None

# Under this, most of the probability fell on no option: the model did not answer the question as it was put.
LOW_SLOT_MASS = 0.5


class Log:
    """Writes events; safe to call from any thread.

    Examples
    --------
    >>> import sys
    >>> Log(sys.stdout).write("loading", model="m")
    {"event":"loading","model":"m"}
    """

    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def write(self, event: str, **fields: Field) -> None:
        """One line; a field that is None is left out, as a metric filter cannot tell null from a number."""
        present = {name: value for name, value in fields.items() if value is not None}
        line = msgspec.json.encode({"event": event, **present}).decode()
        with self._lock:
            self._stream.write(f"{line}\n")
            self._stream.flush()


@dataclass
class RequestRecord:
    """What one request's line says: numbers and words of ours only.

    `path` is the route, or "other"; `outcome` is one of answered, refused, busy, unavailable, failed, gone.
    Milliseconds are of waiting (`queue_ms`), of evaluating (`prefix_ms`, `suffix_ms`) and of all from arrival to answer
    (`total_ms`). `input_tokens` is the sum over the decisions, `cached_tokens` what the prefix did not evaluate again,
    `slot_mass` the least of the decisions. CloudWatch's metric filters read these fields. A `slot_mass` under
    `LOW_SLOT_MASS` is told by a line of its own, `low_slot_mass`, which is the one that an alarm counts.
    """

    request_id: str
    path: str
    status: int = 500
    outcome: str = "failed"
    decisions: int | None = None
    queue_ms: float | None = None
    prefix_ms: float | None = None
    suffix_ms: float | None = None
    total_ms: float | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    slot_mass: float | None = None

    def write_to(self, log: Log) -> None:
        """Write the line, and the one about a low slot mass."""
        log.write(
            "request",
            path=self.path,
            status=self.status,
            outcome=self.outcome,
            decisions=self.decisions,
            queue_ms=self.queue_ms,
            prefix_ms=self.prefix_ms,
            suffix_ms=self.suffix_ms,
            total_ms=self.total_ms,
            input_tokens=self.input_tokens,
            cached_tokens=self.cached_tokens,
            slot_mass=self.slot_mass,
            request_id=self.request_id,
        )
        if self.slot_mass is not None and self.slot_mass < LOW_SLOT_MASS:
            log.write("low_slot_mass", slot_mass=self.slot_mass, request_id=self.request_id)


def where(failure: BaseException) -> str | None:
    """The line that raised, such as `scorer.py:120`; not the message, which may quote the caller."""
    frames = traceback.extract_tb(failure.__traceback__)
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}" if frames else None


def milliseconds(seconds: float) -> float:
    """Seconds as a log line gives them: milliseconds, to the microsecond."""
    return round(seconds * 1000, 3)
