"""Who is measured: three servers that take the same bodies, each a process of its own."""

from __future__ import annotations

import http.client
import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.bench.workloads import Part
from tests.support.adapter_process import ADAPTER, AdapterProcess

LLAMA_SERVER = (sys.executable, "-m", "tests.bench.llama_server")
ENGINE_ALONE = (sys.executable, "-m", "tests.bench.engine_alone")

OURS = "this adapter"
PEER = "llama-server"
SAMPLE = "AWS sample's method"

_PATIENCE_SECONDS = 900
_ASKED = "/v1/systemone"


@dataclass(frozen=True)
class Measured:
    """One part of one round: seconds from the first byte sent to the last byte of the last answer."""

    seconds: float
    latencies: tuple[float, ...]
    evaluated: int


class Server:
    """One server's port. Every thread keeps a connection of its own, where the server does too."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._threads = threading.local()

    def post(self, path: str, body: bytes) -> Any:
        """The answer's JSON.

        Raises
        ------
        RuntimeError
            For anything but a 200: a benchmark of refusals measures nothing.
        """
        connection: http.client.HTTPConnection | None = getattr(self._threads, "connection", None)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_SECONDS)
            self._threads.connection = connection
        connection.request("POST", path, body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer = response.read()
        if response.status != http.client.OK:
            raise RuntimeError(f"{path} of port {self.port} answered {response.status}: {answer[:500]!r}")
        return json.loads(answer)

    def get(self, path: str) -> str:
        """The answer's text."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE_SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().read().decode()
        finally:
            connection.close()


class Contestant(Protocol):
    """Answers bodies, and knows how many tokens it evaluated for them."""

    name: str

    def measure(self, part: Part) -> Measured:
        """Send a part's bodies and wait for all answers."""


class Adapter:
    """The adapter over HTTP; `alone` says what it plans for a body."""

    name = OURS

    def __init__(self, server: Server, alone: Server) -> None:
        self._server = server
        self._alone = alone

    def measure(self, part: Part) -> Measured:
        """See `Contestant`."""
        plans = [self._alone.post("/plan", body) for body in part.bodies]
        seconds, latencies, answers = _timed(self._server, part)
        cached = [answer["x_provenance"]["tokens"]["cached"] for answer in answers]
        evaluated = sum(
            plan["branches"] + (0 if hit else plan["prefix"]) for plan, hit in zip(plans, cached, strict=True)
        )
        return Measured(seconds, latencies, evaluated)


class LlamaServer:
    """llama-server, which counts the tokens it evaluates itself."""

    name = PEER

    def __init__(self, server: Server) -> None:
        self._server = server

    def measure(self, part: Part) -> Measured:
        """See `Contestant`."""
        before = self._evaluated()
        seconds, latencies, _ = _timed(self._server, part)
        return Measured(seconds, latencies, self._evaluated() - before)

    def _evaluated(self) -> int:
        lines = self._server.get("/metrics").splitlines()
        (count,) = [line.split()[-1] for line in lines if line.startswith("llamacpp:prompt_tokens_total ")]
        return int(float(count))


class SampleMethod:
    """The AWS sample's method, which tells with every answer what it evaluated."""

    name = SAMPLE

    def __init__(self, alone: Server) -> None:
        self._server = alone

    def measure(self, part: Part) -> Measured:
        """See `Contestant`."""
        seconds, latencies, answers = _timed(self._server, part)
        return Measured(seconds, latencies, sum(answer["evaluated"] for answer in answers))


@dataclass(frozen=True)
class Field:
    """All that was started."""

    contestants: tuple[Contestant, ...]
    alone: Server
    versions: dict[str, str]
    load_seconds: float


@dataclass(frozen=True)
class Setup:
    """What all of them are given alike."""

    engine_dir: Path
    model: Path
    decision_model: Path
    threads: int
    context_tokens: int
    parallel: int

    @property
    def adapter_environment(self) -> dict[str, str]:
        """The adapter's settings."""
        return {
            "DECISION_ENGINE_DIR": str(self.engine_dir),
            "DECISION_MODEL_DIR": str(self.model.parent),
            "DECISION_THREADS": str(self.threads),
            "DECISION_CONTEXT_TOKENS": str(self.context_tokens),
            # A benchmark on a slow machine asks for more than a minute at once.
            "DECISION_DEADLINE_SECONDS": "59",
        }


@contextmanager
def started(setup: Setup) -> Iterator[Field]:
    """Every process, until the end of the ``with``."""
    shared = {"BENCH_THREADS": str(setup.threads), "BENCH_CONTEXT_TOKENS": str(setup.context_tokens)}
    alone_environment = {**shared, "BENCH_MODEL": str(setup.model), "BENCH_ENGINE_DIR": str(setup.engine_dir)}
    # As many tokens in one unified buffer as the adapter has in its three sequences together.
    room = {"BENCH_CONTEXT_TOKENS": str(3 * setup.context_tokens), "BENCH_PARALLEL": str(setup.parallel)}
    peer_environment = {**shared, **room, "BENCH_MODEL": str(setup.decision_model), "PYTHONWARNINGS": "default"}
    with ExitStack() as stack:
        alone = stack.enter_context(AdapterProcess(alone_environment, command=ENGINE_ALONE)).ready()
        peer = stack.enter_context(AdapterProcess(peer_environment, command=LLAMA_SERVER)).ready()
        adapter = stack.enter_context(AdapterProcess(setup.adapter_environment, command=ADAPTER)).ready()
        engine = Server(alone.port)
        ready = alone.event("ready")
        yield Field(
            contestants=(
                Adapter(Server(adapter.port), engine),
                LlamaServer(Server(peer.port)),
                SampleMethod(engine),
            ),
            alone=engine,
            versions={"engine": f"llama.cpp {ready['version']}", "xllamacpp": str(peer.event("ready")["build"])},
            load_seconds=float(ready["load_seconds"]),
        )


def _timed(server: Server, part: Part) -> tuple[float, tuple[float, ...], list[Any]]:
    """Seconds in all, of each, and the answers."""

    def ask(body: bytes) -> tuple[float, Any]:
        started_at = time.perf_counter()
        answer = server.post(_ASKED, body)
        return time.perf_counter() - started_at, answer

    # New connections for each part: a server may close one that nobody used for a while.
    server = Server(server.port)
    started_at = time.perf_counter()
    if part.clients == 1:
        asked = [ask(body) for body in part.bodies]
    else:
        with ThreadPoolExecutor(part.clients) as clients:
            asked = list(clients.map(ask, part.bodies))
    seconds = time.perf_counter() - started_at
    return seconds, tuple(latency for latency, _ in asked), [answer for _, answer in asked]
