"""`make soak`: the adapter on a tiny model, with three times the load it can bear, then stopped in the middle of it.

Three things in turn: a flood by many clients; a second one during which SIGTERM comes; and many small requests, to see
whether memory stays flat. docs/benchmarks.md says what is judged.
"""

from __future__ import annotations

import argparse
import http.client
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from local_cloud.engine_folder import engine_folder
from tests.bench import report
from tests.bench.figures import Target, failures, percentile
from tests.bench.load import BROKEN, NOT_REACHED, Asked, Clients, Outcome, learned, pool, send
from tests.bench.surroundings import RESULTS, load_average, surroundings
from tests.bench.watch import Watch, growth, resident_mib
from tests.support.adapter_process import AdapterProcess
from tests.support.tiny_gguf import write_tiny_gguf

OVERLOAD = 3.0
LEAST_OVERLOAD = 2.5
MOST_GROWTH_MIB = 4.0
MOST_PING_SECONDS = 2.0
LATE_SECONDS = 0.1
"""How far past its deadline an answer may be written: a thread has to wake up for it."""

# Long enough that 200 clients at three times capacity can be scheduled, short enough for a client in Python.
_SERVICE_SECONDS = 0.08
_POOL = 24
_MOST_DECISIONS = 64
_CAPACITY_SECONDS = 4.0
_SMALL_CLIENTS = 4
_SAMPLES = 40


@dataclass(frozen=True)
class Flood:
    """One flood: what the clients saw, what the server's own lines say, and what was watched."""

    capacity: float
    offered: float
    outcomes: Sequence[Outcome]
    lines: Sequence[dict[str, Any]]
    watch: Watch


@dataclass(frozen=True)
class Stopped:
    """A flood that SIGTERM ended."""

    outcomes: Sequence[Outcome]
    lines: Sequence[dict[str, Any]]
    exit_code: int
    seconds: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run all three and report; more than 0 if something did not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description="Flood the adapter.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--requests", type=int, default=10_000, help="of the memory's own run")
    parser.add_argument("--deadline-seconds", type=int, default=4)
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        write_tiny_gguf(Path(folder) / "tiny.gguf")
        environment = {
            "DECISION_ENGINE_DIR": str(engine_folder()),
            "DECISION_MODEL_DIR": folder,
            "DECISION_THREADS": "1",
            "DECISION_DEADLINE_SECONDS": str(options.deadline_seconds),
        }
        with AdapterProcess(environment) as server:
            port = server.ready().port
            requests = _sized_pool(port)
            capacity = _capacity(port, requests)
            print(f"capacity: {capacity:.1f} requests a second of {len(requests[0].decisions)} decisions", flush=True)
            flood = _flood(server, requests, capacity, clients=options.clients, seconds=options.seconds)
            stopped = _stop_in_the_middle(
                server, requests, capacity, clients=options.clients, seconds=2 * options.deadline_seconds
            )
        with AdapterProcess(environment) as server:
            memory = _many_requests(server.ready(), options.requests)
    targets = judge(flood, stopped, memory, deadline_seconds=options.deadline_seconds, requests=options.requests)
    body = [report.headline(targets), "", *report.target_table(targets), "", *_tables(flood, stopped)]
    facts = surroundings(
        clients=str(options.clients),
        seconds=f"{options.seconds:g}",
        deadline=f"{options.deadline_seconds} s",
        capacity=f"{capacity:.1f} requests/s of {len(requests[0].decisions)} decisions",
        load=f"{load_average()} at the end, this run's own included",
    )
    measured = {"memory_mib": memory, "flood_memory_mib": flood.watch.memory, "pings": flood.watch.pings}
    written = report.write(
        "soak", "Soak: three times the load it can bear", facts, body, measured, folder=options.results
    )
    print("", *body, "", f"Written to {written}.", sep="\n")
    return failures(targets)


def judge(
    flood: Flood, stopped: Stopped, memory: Sequence[float], *, deadline_seconds: float, requests: int
) -> list[Target]:
    """What must hold. A flood that was none, because the clients could not keep up, says nothing."""
    problems = Counter(outcome.problem for outcome in flood.outcomes if outcome.problem)
    late = [
        line
        for line in flood.lines
        if line["status"] == http.client.OK and line["total_ms"] > 1000 * (deadline_seconds + LATE_SECONDS)
    ]
    answered = sum(line["status"] == http.client.OK for line in stopped.lines)
    received = sum(outcome.status == http.client.OK for outcome in stopped.outcomes)
    was_flood = flood.offered >= LEAST_OVERLOAD * flood.capacity
    others = sum(outcome.status not in (http.client.OK, http.client.SERVICE_UNAVAILABLE) for outcome in flood.outcomes)
    other_lines = sum(line["outcome"] not in ("answered", "busy", "unavailable") for line in stopped.lines)
    wrong_at_the_end = sum(
        outcome.problem is not None and outcome.status not in (BROKEN, NOT_REACHED) for outcome in stopped.outcomes
    )
    print(*(f"{count} × {problem}" for problem, count in problems.items()), sep="\n")

    def at_most(name: str, value: float, bound: float, unit: str = "") -> Target:
        return Target(name, value, bound, at_least=False, valid=was_flood, unit=unit)

    return [
        at_most("requests with another status than 200 and 503", others, 0),
        at_most("answers crossed, inexact or refused without a time", sum(problems.values()) - others, 0),
        at_most("answers written past their deadline", len(late), 0),
        at_most("slowest /ping", max(flood.watch.pings), MOST_PING_SECONDS, " s"),
        at_most("/ping with another status than 200", len(flood.watch.other_pings), 0),
        at_most("growth of memory during the flood", growth(flood.watch.memory), MOST_GROWTH_MIB, " MiB"),
        at_most(f"growth of memory over {requests} requests", growth(memory), MOST_GROWTH_MIB, " MiB"),
        at_most("SIGTERM: answers that did not arrive", answered - received, 0),
        at_most("SIGTERM: answers that were wrong", wrong_at_the_end, 0),
        at_most("SIGTERM: requests that failed or were lost", other_lines, 0),
        at_most("SIGTERM: exit code", stopped.exit_code, 0),
    ]


def _sized_pool(port: int) -> tuple[Asked, ...]:
    """Requests of about `_SERVICE_SECONDS` each, with the answers that are right."""
    few = 4
    trial = pool(4, decisions=few, seed="trial")
    started = time.perf_counter()
    for asked in trial:
        learned(port, asked)
    seconds = (time.perf_counter() - started) / len(trial)
    decisions = min(_MOST_DECISIONS, max(1, math.ceil(few * _SERVICE_SECONDS / seconds)))
    return tuple(learned(port, asked) for asked in pool(_POOL, decisions=decisions))


def _capacity(port: int, requests: Sequence[Asked]) -> float:
    """Requests a second with always something to do and never too much."""
    end = time.perf_counter() + _CAPACITY_SECONDS

    def client(number: int) -> int:
        answered = 0
        while time.perf_counter() < end:
            outcome = send(port, requests[(number + answered) % len(requests)], number)
            answered += outcome.status == http.client.OK
        return answered

    started = time.perf_counter()
    with ThreadPoolExecutor(_SMALL_CLIENTS) as clients:
        answered = sum(clients.map(client, range(_SMALL_CLIENTS)))
    return answered / (time.perf_counter() - started)


def _flood(
    server: AdapterProcess, requests: Sequence[Asked], capacity: float, *, clients: int, seconds: float
) -> Flood:
    before = len(server.events("request"))
    load = Clients(server.port, requests, count=clients, per_second=OVERLOAD * capacity)
    with Watch(server.port, server.process.pid) as watch:
        load.run(seconds)
    offered = len(load.outcomes) / seconds
    return Flood(capacity, offered, load.outcomes, server.events("request")[before:], watch)


def _stop_in_the_middle(
    server: AdapterProcess, requests: Sequence[Asked], capacity: float, *, clients: int, seconds: float
) -> Stopped:
    before = len(server.events("request"))
    load = Clients(server.port, requests, count=clients, per_second=OVERLOAD * capacity)
    ended: list[float] = []

    def stop() -> None:
        time.sleep(seconds / 2)
        started = time.perf_counter()
        server.terminate()
        server.exit_code()
        ended.append(time.perf_counter() - started)

    load.run(seconds, meanwhile=stop)
    return Stopped(load.outcomes, server.events("request")[before:], server.exit_code(), ended[0])


def _many_requests(server: AdapterProcess, count: int) -> list[float]:
    """The server's memory while it answers so many small requests, no two about the same state."""
    port, pid = server.port, server.process.pid
    batch = max(1, count // _SAMPLES)
    memory = []
    with ThreadPoolExecutor(_SMALL_CLIENTS) as clients:
        for number in range(_SAMPLES):
            requests = pool(batch, decisions=1, seed=f"many {number}", lines=2)
            for outcome in clients.map(lambda asked: send(port, asked, 0), requests):
                if outcome.status != http.client.OK:
                    raise RuntimeError(f"a small request was answered {outcome.status}: {outcome.problem}")
            memory.append(resident_mib(pid))
    return memory


def _tables(flood: Flood, stopped: Stopped) -> list[str]:
    rows = []
    for status in sorted({outcome.status for outcome in flood.outcomes}):
        seconds = [outcome.seconds for outcome in flood.outcomes if outcome.status == status]
        rows.append([str(status), str(len(seconds)), *(f"{percentile(seconds, each):.3f}" for each in (50, 95, 99))])
    refused = [line for line in flood.lines if line["outcome"] == "busy"]
    at_once = sum(line["total_ms"] < 1000 for line in refused)
    statuses = Counter(outcome.status for outcome in stopped.outcomes)
    return [
        *report.table(["status", "requests", "p50 s", "p95 s", "p99 s"], rows),
        "",
        f"Offered: {flood.offered:.1f} requests a second, {flood.offered / flood.capacity:.1f} times what it answers "
        f"alone. Of {len(refused)} refusals {at_once} came within a second of the request, "
        f"{len(refused) - at_once} after it had waited. /ping took {percentile(flood.watch.pings, 99):.3f} s at p99 of "
        f"{len(flood.watch.pings)}. Memory at the end: {flood.watch.memory[-1]:.0f} MiB.",
        "",
        f"SIGTERM under load: {statuses[http.client.OK]} answered, "
        f"{statuses[http.client.SERVICE_UNAVAILABLE]} refused, {statuses[NOT_REACHED]} found nobody listening, "
        f"{statuses[BROKEN]} connections ended without an answer; it was gone after {stopped.seconds:.1f} s.",
    ]


if __name__ == "__main__":
    sys.exit(main())
