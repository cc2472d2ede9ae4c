"""What a request and a start cost beside the model: measured with a stub in the scorer's place, and by starting."""

from __future__ import annotations

import http.client
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from tests.bench.contestants import ENGINE_ALONE, Server, Setup
from tests.bench.figures import is_valid, percentile, variation
from tests.bench.workloads import workloads
from tests.support.adapter_process import ADAPTER, STUB_ADAPTER, AdapterProcess

_REQUESTS = 300
_PATH = "/v1/systemone"
_PING_EVERY_SECONDS = 0.005
_PATIENCE_SECONDS = 120


@dataclass(frozen=True)
class Overheads:
    """One figure a round each. `loads` are of the engine alone; `starts` end with the first 200 on /ping."""

    request_p50s_ms: tuple[float, ...]
    starts: tuple[float, ...]
    loads: tuple[float, ...]

    @property
    def p50_ms(self) -> float:
        """The median round's p50."""
        return statistics.median(self.request_p50s_ms)

    @property
    def start_seconds(self) -> float:
        """What a start takes over the engine's load, the median of the rounds' differences."""
        return statistics.median(start - load for start, load in zip(self.starts, self.loads, strict=True))

    @property
    def requests_valid(self) -> bool:
        """Its own control: a stub does the same every time."""
        return is_valid(self.request_p50s_ms)

    @property
    def starts_valid(self) -> bool:
        """The control is the engine's own load."""
        return is_valid(self.loads)

    def rows(self) -> Sequence[Sequence[str]]:
        """For a table."""
        return [
            ["a request with a stub engine, p50", f"{self.p50_ms:.2f} ms", f"{variation(self.request_p50s_ms):.0%}"],
            ["start to first 200 on /ping", f"{statistics.median(self.starts):.2f} s", ""],
            ["model and context loaded by the engine alone", *_median_and_variation(self.loads)],
        ]


def measure_overheads(setup: Setup, *, rounds: int) -> Overheads:
    """Start everything so many times, in turn."""
    alone = {
        "BENCH_ENGINE_DIR": str(setup.engine_dir),
        "BENCH_MODEL": str(setup.model),
        "BENCH_THREADS": str(setup.threads),
        "BENCH_CONTEXT_TOKENS": str(setup.context_tokens),
    }
    p50s, starts, loads = [], [], []
    for _ in range(rounds):
        with AdapterProcess(alone, command=ENGINE_ALONE) as process:
            loads.append(float(process.event("ready")["load_seconds"]))
        starts.append(_start(setup))
        p50s.append(_p50_ms(setup))
        print(f"start {starts[-1]:.2f} s, load {loads[-1]:.2f} s, request {p50s[-1]:.2f} ms", flush=True)
    return Overheads(tuple(p50s), tuple(starts), tuple(loads))


def _start(setup: Setup) -> float:
    started = time.perf_counter()
    with AdapterProcess(setup.adapter_environment, command=ADAPTER) as process:
        port = process.port
        while time.perf_counter() - started < _PATIENCE_SECONDS:
            if _ping(port) == http.client.OK:
                return time.perf_counter() - started
            time.sleep(_PING_EVERY_SECONDS)
        raise RuntimeError(f"no 200 on /ping within {_PATIENCE_SECONDS} s: {process.output}")


def _ping(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("GET", "/ping")
        return connection.getresponse().status
    finally:
        connection.close()


def _p50_ms(setup: Setup) -> float:
    (short, *_) = workloads(None)
    body = short.parts_of(0)[0].bodies[0]
    with AdapterProcess(setup.adapter_environment, command=STUB_ADAPTER) as process:
        server = Server(process.ready().port)
        milliseconds = []
        for _ in range(_REQUESTS):
            started = time.perf_counter()
            server.post(_PATH, body)
            milliseconds.append((time.perf_counter() - started) * 1000)
    return percentile(milliseconds, 50)


def _median_and_variation(values: Sequence[float]) -> tuple[str, str]:
    return f"{statistics.median(values):.2f} s", f"{variation(values):.0%}"
