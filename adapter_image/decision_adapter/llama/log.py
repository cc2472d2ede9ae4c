"""llama.cpp's own log: kept out of the container's log, its last complaints kept for the refusal that needs them."""

from __future__ import annotations

import re
import threading
from collections import deque

from decision_adapter.llama.signatures import LogCallback

# enum ggml_log_level of ggml.h.
_WARN, _ERROR, _CONTINUED = 3, 4, 5

_OFFLOADED = re.compile(r"offloaded (\d+)/(\d+) layers to GPU")


class LogTail:
    """The last warnings and errors that llama.cpp logged, and how many layers it said it offloaded."""

    def __init__(self, lines: int = 8) -> None:
        self._lock = threading.Lock()
        self._complaints: deque[str] = deque(maxlen=lines)
        self._level = 0
        self._offloaded: tuple[int, int] | None = None
        # llama.cpp keeps only the function pointer: the callback must live as long as the library.
        self.callback = LogCallback(self._on_log)

    def forget(self) -> None:
        """Start afresh, before a call whose complaints are wanted."""
        with self._lock:
            self._complaints.clear()
            self._offloaded = None

    @property
    def complaints(self) -> str:
        """The last complaints in one line, oldest first; empty if there were none."""
        with self._lock:
            return "; ".join(line.strip() for line in self._complaints if line.strip())

    @property
    def offloaded(self) -> tuple[int, int] | None:
        """Layers on a GPU and layers in all, as the loader reported them; None where the build reports none."""
        with self._lock:
            return self._offloaded

    def _on_log(self, level: int, text: bytes | None, _user_data: int | None) -> None:
        line = (text or b"").decode("utf-8", "replace")
        with self._lock:
            continued = level == _CONTINUED
            if not continued:
                self._level = level
            if self._level in (_WARN, _ERROR):
                if continued and self._complaints:
                    self._complaints[-1] += line
                else:
                    self._complaints.append(line)
            if found := _OFFLOADED.search(line):
                self._offloaded = (int(found[1]), int(found[2]))
