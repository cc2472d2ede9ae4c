"""The log of a build: a file that grows while it runs, and the same lines in CloudWatch Logs."""

from __future__ import annotations

import time
from pathlib import Path

from local_cloud import log_streams


class BuildLog:
    """Collects what the build and CodeBuild itself say. `file` takes the output of commands.

    Parameters
    ----------
    path:
        The file; made if it is not there.
    stream:
        Log group and stream, or None to keep the file only.
    """

    def __init__(self, path: Path, stream: tuple[str, str] | None) -> None:
        self.path = path
        self._stream = stream
        self.file = path.open("ab", buffering=0)
        self._sent = path.open("rb")
        self._unfinished_line = b""

    def say(self, text: str) -> None:
        """Write a line of CodeBuild's own."""
        self.file.write(f"[Container] {time.strftime('%Y/%m/%d %H:%M:%S')} {text}\n".encode())
        self.send()

    def send(self) -> None:
        """Send the lines that are new since the last time to CloudWatch Logs."""
        *lines, self._unfinished_line = (self._unfinished_line + self._sent.read()).split(b"\n")
        self._write(lines)

    def close(self) -> None:
        """Send the rest and close the files."""
        self.send()
        self._write([self._unfinished_line])
        self.file.close()
        self._sent.close()

    def _write(self, lines: list[bytes]) -> None:
        if self._stream is not None:
            group, stream = self._stream
            log_streams.write(group, stream, [line.decode("utf-8", "replace") for line in lines if line])
