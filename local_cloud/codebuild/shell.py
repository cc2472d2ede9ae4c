"""One shell for all commands of a build, so that `cd` and `export` carry over, as in buildspec version 0.2."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from local_cloud.processes import spawn, stop_group

_POLL_SECONDS = 0.02
_STOP_SECONDS = 2.0


class BuildShell:
    """A shell that runs one command after the other and reports each exit code.

    An exit code comes through a file, not through the end of a pipe: a process that a command leaves in the background
    may hold the pipe open for ever.

    Parameters
    ----------
    kind:
        `sh` or `bash`.
    scratch:
        A folder for the commands and their exit codes, not seen by the build.
    output:
        Takes stdout and stderr.
    while_waiting:
        Called again and again during a command; what it raises interrupts it.
    """

    def __init__(
        self,
        kind: str,
        *,
        directory: Path,
        environment: Mapping[str, str],
        scratch: Path,
        output: IO[bytes],
        while_waiting: Callable[[], None],
    ) -> None:
        self._kind = kind
        self._directory = directory
        self._environment = environment
        self._scratch = scratch
        self._output = output
        self._while_waiting = while_waiting
        self._commands = 0
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, command: str) -> int:
        """Run one command and return its exit code; of a command killed by signal N it is -N or 128 + N.

        A command that leaves the shell (`exit 3`) ends it; the next one gets a new shell.
        """
        process = self._running_shell()
        self._commands += 1
        script = self._scratch / f"command-{self._commands}"
        exit_code = self._scratch / f"exit-code-{self._commands}"
        script.write_text(f"{command}\n")
        unfinished = exit_code.with_suffix(".new")
        line = f". {script} </dev/null; echo $? >{unfinished}; mv {unfinished} {exit_code}\n"
        assert process.stdin is not None  # noqa: S101 - a pipe, see _running_shell
        with contextlib.suppress(BrokenPipeError):  # the shell is gone: its exit code says how
            process.stdin.write(line.encode())
            process.stdin.flush()
        while True:
            ended = process.poll()
            if exit_code.exists():
                return int(exit_code.read_text())
            if ended is not None:
                return ended
            self._while_waiting()
            time.sleep(_POLL_SECONDS)

    def close(self) -> None:
        """Stop the shell and what it left in the background."""
        if self._process is not None:
            if self._process.stdin is not None:
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.close()
            stop_group(self._process, _STOP_SECONDS)
            self._process = None

    def _running_shell(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._process = spawn(
                [self._kind],
                env=self._environment,
                cwd=self._directory,
                stdin=subprocess.PIPE,
                stdout=self._output,
                stderr=subprocess.STDOUT,
            )
        return self._process
