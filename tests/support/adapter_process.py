"""A running adapter, as the container's host sees it: a process, a port, log lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from tests.support.waiting import PATIENCE_SECONDS, eventually

ADAPTER = (sys.executable, "-m", "decision_adapter")
STUB_ADAPTER = (sys.executable, "-m", "tests.support.stub_adapter")
PATIENT_ADAPTER = (sys.executable, "-m", "tests.support.patient_adapter")

REPOSITORY = Path(__file__).parents[2]


class AdapterProcess:
    """Starts the adapter on a free loopback port; as a context manager it is gone afterwards, whatever happened.

    Parameters
    ----------
    environment:
        The container's environment, over a bare one.
    command:
        What to run. Default: the adapter itself.
    wrapper:
        Words before the command, such as `unshare …`. Default: none.
    """

    def __init__(
        self, environment: Mapping[str, str], *, command: Sequence[str] = ADAPTER, wrapper: Sequence[str] = ()
    ) -> None:
        bare = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
        local = {"SAGEMAKER_BIND_TO_PORT": "0", "DECISION_HOST": "127.0.0.1", "PYTHONWARNINGS": "error"}
        self.process = subprocess.Popen(
            [*wrapper, *command],
            cwd=REPOSITORY,
            env={**bare, **local, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.lines: list[str] = []
        self.errors: list[str] = []
        self._readers = [
            threading.Thread(target=_collect, args=(self.process.stdout, self.lines), daemon=True),
            threading.Thread(target=_collect, args=(self.process.stderr, self.errors), daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def output(self) -> str:
        """Everything it wrote, log and errors."""
        return "\n".join([*self.lines, *self.errors])

    def events(self, name: str) -> list[dict[str, Any]]:
        """Its log lines of one event so far."""
        return [line for line in map(json.loads, list(self.lines)) if line["event"] == name]

    def event(self, name: str) -> dict[str, Any]:
        """Its first log line of an event, waited for."""

        def found() -> dict[str, Any] | None:
            if self.process.poll() is not None:
                self._join()
            lines = self.events(name)
            if not lines and self.process.poll() is not None:
                raise AssertionError(f"it ended with {self.process.returncode} before {name!r}: {self.output}")
            return lines[0] if lines else None

        return eventually(found, f"a log line {name!r}, there is: {self.output}")

    @property
    def url(self) -> str:
        """Where it listens, waited for."""
        return f"http://127.0.0.1:{self.event('listening')['port']}"

    @property
    def port(self) -> int:
        """The port it listens on, waited for."""
        return int(self.event("listening")["port"])

    def client(self) -> httpx.Client:
        """An HTTP client for it, which no proxy of the environment comes between."""
        return httpx.Client(base_url=self.url, timeout=PATIENCE_SECONDS, trust_env=False)

    def ready(self) -> AdapterProcess:
        """Itself, once it serves."""
        self.event("ready")
        return self

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.process.send_signal(signal.SIGTERM)

    def exit_code(self, patience_seconds: float = PATIENCE_SECONDS) -> int:
        """How it ended, waited for."""
        code = self.process.wait(patience_seconds)
        self._join()
        return code

    def _join(self) -> None:
        for reader in self._readers:
            reader.join(PATIENCE_SECONDS)

    def __enter__(self) -> AdapterProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE_SECONDS)
        self._join()
        for stream in (self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()


def _collect(stream: Any, lines: list[str]) -> None:
    for line in stream:
        lines.append(line.rstrip("\n"))
