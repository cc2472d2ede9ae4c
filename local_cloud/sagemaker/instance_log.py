"""What one container printed: each line goes to a file, to CloudWatch Logs, and into the reason if it fails."""

from __future__ import annotations

import json
import logging
from collections import deque
from pathlib import Path

from local_cloud import log_streams

GROUP_PREFIX = "/aws/sagemaker/Endpoints/"
REASON_LIMIT = 1024
"""The most characters of a FailureReason."""

_KEPT_LINES = 8
_logger = logging.getLogger("local_cloud.sagemaker")


def group_of(endpoint: str) -> str:
    """The log group of an endpoint."""
    return f"{GROUP_PREFIX}{endpoint}"


class InstanceLog:
    """The log of one instance: stream `<variant>/<instance>` and file `<variant>-<instance>.log` in `folder`."""

    def __init__(self, folder: Path, endpoint: str, variant: str, instance: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{variant}-{instance}.log"
        self._group = group_of(endpoint)
        self._stream = f"{variant}/{instance}"
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)
        self.refusal: str | None = None  # why the container will not serve its model, if it said so

    def append(self, line: str) -> None:
        """Keep one line, without its end."""
        reason = _reason_in(line)
        if reason is None:
            self._last.append(line)
        else:
            self.refusal = reason
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        try:
            log_streams.write(self._group, self._stream, [line])
        except Exception:
            # The emulator's store is not ours: whatever fails in it must not end the thread that drains the container's
            # output, or the container blocks on a full pipe.
            _logger.exception("cannot write to log group %s", self._group)

    def explain(self, what_happened: str) -> str:
        """A FailureReason: the container's own reason first, if it logged one; what happened; its last lines."""
        text = f"{self.refusal.rstrip('.')}. {what_happened}" if self.refusal else what_happened
        lines = " | ".join(self._last)
        if not lines:
            return text[:REASON_LIMIT]
        label = " Last log lines: "
        room = REASON_LIMIT - len(text) - len(label)
        if len(lines) > room:
            lines = f"…{lines[len(lines) - room + 1 :]}" if room > 1 else ""
        return f"{text}{label}{lines}"[:REASON_LIMIT] if lines else text[:REASON_LIMIT]


def _reason_in(line: str) -> str | None:
    """The `reason` of the adapter's log line `model_refused`; other events have reasons too, of single requests."""
    if not line.startswith("{"):
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):  # no JSON after all
        return None
    reason = event.get("reason") if event.get("event") == "model_refused" else None
    return reason if isinstance(reason, str) and reason else None
