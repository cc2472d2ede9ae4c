"""What is watched of a server while it is under load: whether it answers /ping, and how much memory it holds."""

from __future__ import annotations

import http.client
import os
import statistics
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

_EVERY_SECONDS = 0.25
_PATIENCE_SECONDS = 30


def resident_mib(pid: int) -> float:
    """The memory that a process holds now; Linux only."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def growth(samples: Sequence[float]) -> float:
    """How much more the last quarter is than the second, by their medians: in the first, buffers still grow.

    >>> growth([50.0, 80.0, 100.0, 100.0, 101.0, 100.0, 102.0, 102.0])
    2.0
    """
    quarter = len(samples) // 4
    return statistics.median(samples[-quarter:]) - statistics.median(samples[quarter : 2 * quarter])


class Watch:
    """Pings a server and looks at its memory four times a second, until the end of the ``with``."""

    def __init__(self, port: int, pid: int) -> None:
        self.pings: list[float] = []
        self.other_pings: list[int] = []
        self.memory: list[float] = []
        self._port = port
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            self.memory.append(resident_mib(self._pid))
            started = time.perf_counter()
            status = self._ping()
            self.pings.append(time.perf_counter() - started)
            if status != http.client.OK:
                self.other_pings.append(status)

    def _ping(self) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE_SECONDS)
        try:
            connection.request("GET", "/ping")
            return connection.getresponse().status
        except OSError:
            return 0
        finally:
            connection.close()
