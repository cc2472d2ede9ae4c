"""Lines in a build's log that say how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable

_INTERVAL_SECONDS = 5.0


class Progress:
    """Says every few seconds how many bytes are done, how fast, and how long the rest will take.

    Parameters
    ----------
    what:
        What is being done, such as "reading model.gguf".
    total:
        Bytes to do.
    say:
        Takes one line.
    clock:
        Seconds that only go forward. Default: the system's.

    Examples
    --------
    >>> seconds = iter([0.0, 2.0, 6.0, 10.0])
    >>> progress = Progress("reading model.gguf", 200_000_000, say=print, clock=lambda: next(seconds))
    >>> progress.at(40_000_000)
    >>> progress.at(120_000_000)
    reading model.gguf: 120 of 200 MB (60 %), 20 MB/s, 4 s left
    >>> progress.done()
    reading model.gguf: 200 MB in 10.0 s, 20 MB/s
    """

    def __init__(
        self, what: str, total: int, *, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what = what
        self._total = total
        self._say = say
        self._clock = clock
        self._start = self._said = clock()

    def at(self, done: int) -> None:
        """Note that `done` bytes are done; a line appears if the last one is long enough ago."""
        now = self._clock()
        if now - self._said < _INTERVAL_SECONDS or not done:
            return
        self._said = now
        rate = done / (now - self._start)
        percent = 100 * done // self._total
        left = (self._total - done) / rate
        sizes = f"{_megabytes(done)} of {_megabytes(self._total)} MB ({percent} %)"
        self._say(f"{self._what}: {sizes}, {_megabytes(rate)} MB/s, {left:.0f} s left")

    def done(self) -> None:
        """Say that all is done."""
        seconds = max(self._clock() - self._start, 1e-3)
        rate = _megabytes(self._total / seconds)
        self._say(f"{self._what}: {_megabytes(self._total)} MB in {seconds:.1f} s, {rate} MB/s")


def _megabytes(count: float) -> str:
    return f"{count / 1e6:.{0 if count >= 1e7 else 1}f}"
