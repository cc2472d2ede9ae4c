"""The process: one listening socket, one engine, and an end that no answer is lost in."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping
from types import FrameType
from typing import NoReturn

import uvicorn

from decision_adapter.admission import Admission
from decision_adapter.app import App, create_app
from decision_adapter.engine import Engine
from decision_adapter.errors import ModelRefused, OffloadIncomplete
from decision_adapter.loading import LoadScorer, WrongModel, load_verified
from decision_adapter.request_log import Field, Log
from decision_adapter.settings import Settings, SettingsRefused
from decision_adapter.wire import Limits

# SageMaker sends SIGKILL 30 s after SIGTERM: by 20 s every request has its answer or its 503, by 25 s this is gone.
DRAIN_SECONDS = 20.0
LAST_CONNECTIONS_SECONDS = 22

# SageMaker's proxy keeps connections and uses them again; it should be the one that closes an idle one.
KEEP_ALIVE_SECONDS = 75

EXIT_STOPPED = 0
EXIT_SETTINGS = 2
EXIT_MODEL_REFUSED = 3
EXIT_NOT_LISTENING = 4


def run(environment: Mapping[str, str], load_scorer: LoadScorer) -> NoReturn:
    """Serve until SIGTERM or SIGINT, then end the process.

    Exit codes: 0 stopped, 2 the environment is wrong, 3 the engine or the device is not what was asked for, 4 the port
    is taken. A model that is not the expected one does not end it: see `WrongModel`.
    """
    try:
        settings = Settings.from_environment(environment)
    except SettingsRefused as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(EXIT_SETTINGS)
    try:
        listener = _listen(settings)
    except OSError as failure:
        print(
            f"cannot listen on {settings.host} port {settings.port}: {failure.strerror}: "
            "free it, or set DECISION_HOST and SAGEMAKER_BIND_TO_PORT",
            file=sys.stderr,
        )
        sys.exit(EXIT_NOT_LISTENING)
    _end(_Process(settings, load_scorer, Log()).serve(listener))


class _Process:
    def __init__(self, settings: Settings, load_scorer: LoadScorer, log: Log) -> None:
        self._log = log
        self._exit_code = EXIT_STOPPED
        self._stopping = False
        self._engine = Engine(
            lambda: load_verified(settings, load_scorer, log, cancelled=lambda: self._stopping),
            admission=Admission(deadline_seconds=settings.deadline_seconds),
            deadline_seconds=settings.deadline_seconds,
            log=log,
            on_refused=self._model_refused,
        )
        app = create_app(
            self._engine,
            limits=Limits(max_decisions=settings.max_decisions, max_options=settings.max_options),
            deadline_seconds=settings.deadline_seconds,
            log=log,
            api_key=settings.api_key,
        )
        self._server = _Server(app, log)

    def serve(self, listener: socket.socket) -> int:
        """Serve on the socket; returns the exit code."""
        # PID 1 ignores a signal that it has no handler for. These stay when uvicorn, whose own handlers hold while it
        # serves, puts them back and raises the signal again.
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, self._stop)
        host, port = listener.getsockname()[:2]
        self._log.write("listening", host=host, port=port)
        self._engine.start()
        self._server.run(sockets=[listener])
        self._stopping = True
        # Nobody waits any more; it ends at once, or it loads or evaluates for somebody who is gone.
        self._engine.stop(timeout_seconds=1.0)
        self._log.write("stopped")
        return self._exit_code

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._server.should_exit = True

    def _model_refused(self, refusal: ModelRefused) -> None:
        if self._stopping:
            return
        self._log.write("model_refused", reason=str(refusal), **_cause(refusal))
        if not isinstance(refusal, WrongModel):
            self._exit_code = EXIT_MODEL_REFUSED
            self._server.should_exit = True


def _cause(refusal: ModelRefused) -> dict[str, Field]:
    """Whose fault it is, the model's, the engine's or the offload's, as alarms tell them apart, and its numbers."""
    if isinstance(refusal, WrongModel):
        return {"cause": "model", "expected": refusal.expected, "found": refusal.found}
    if isinstance(refusal, OffloadIncomplete):
        return {
            "cause": "offload",
            "asked": refusal.asked,
            "offloaded": refusal.offloaded,
            "layers": refusal.layers,
            "devices": refusal.devices,
        }
    return {"cause": "engine"}


class _Server(uvicorn.Server):
    """uvicorn with our log lines and our way of stopping."""

    def __init__(self, app: App, log: Log) -> None:
        # Its messages quote requests and their traces; what matters of a request is in its own line.
        logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
        super().__init__(
            uvicorn.Config(
                app.asgi,
                loop="asyncio",
                http="h11",
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
                timeout_graceful_shutdown=LAST_CONNECTIONS_SECONDS,
            )
        )
        self._give_up = app.give_up
        self._log = log

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections, finish what was begun."""
        self._log.write("stopping")
        asyncio.get_running_loop().call_later(DRAIN_SECONDS, self._give_up)
        await super().shutdown(sockets)


def _listen(settings: Settings) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(address)
    listener.listen(2048)
    return listener


def _end(code: int) -> NoReturn:
    """Leave without the interpreter's own end, which would free llama.cpp under a thread that may still be in it."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
