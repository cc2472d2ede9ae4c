"""GET /metrics: counters and histograms in Prometheus' text format, for SageMaker's collector or any other.

A writer of its own: every label is one of this program's words, so nothing needs escaping, and all is counted on the
server's one loop, so nothing needs a lock. It costs a request a few additions; a client library would cost the start
of the process 40 ms and the image one more package.

Source: Prometheus documentation, "Exposition formats", text-based format 0.0.4.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator

from decision_adapter.request_log import RequestRecord

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

# Seconds. The last is SageMaker's limit of an invocation.
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 25.0, 50.0, 60.0)


class _Histogram:
    def __init__(self, name: str, what: str) -> None:
        self.name = name
        self.what = what
        self._counts = [0] * (len(BUCKETS) + 1)
        self._sum = 0.0

    def observe(self, milliseconds: float | None) -> None:
        if milliseconds is not None:
            self._counts[bisect_left(BUCKETS, milliseconds / 1000)] += 1
            self._sum += milliseconds / 1000

    def lines(self) -> Iterator[str]:
        yield from _head(self.name, self.what, "histogram")
        cumulated = list(itertools.accumulate(self._counts))
        for bound, count in zip((*map(str, BUCKETS), "+Inf"), cumulated, strict=True):
            yield f'{self.name}_bucket{{le="{bound}"}} {count}'
        yield f"{self.name}_sum {self._sum!r}"
        yield f"{self.name}_count {cumulated[-1]}"


class Metrics:
    """What became of the requests so far."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int, str]] = Counter()
        self._totals = {
            "decision_decisions_total": (0, "Decisions that were answered"),
            "decision_input_tokens_total": (0, "Tokens of the answered decisions' prompts, each with its state"),
            "decision_cached_tokens_total": (0, "Tokens of states that were not evaluated again"),
            "decision_prefix_cache_hits_total": (0, "Answered requests whose state was evaluated already"),
            "decision_prefix_cache_misses_total": (0, "Answered requests whose state had to be evaluated"),
        }
        self._total = _Histogram("decision_request_seconds", "From the arrival of an answered request to its answer")
        self._queue = _Histogram("decision_queue_seconds", "Waiting of answered requests for their turn")
        self._prefix = _Histogram("decision_prefix_seconds", "Evaluating the states of answered requests")
        self._suffix = _Histogram("decision_suffix_seconds", "Evaluating the questions of answered requests")

    def observe(self, record: RequestRecord) -> None:
        """Count one request."""
        self._requests[record.path, record.status, record.outcome] += 1
        if record.outcome != "answered":
            return
        self._total.observe(record.total_ms)
        self._queue.observe(record.queue_ms)
        self._prefix.observe(record.prefix_ms)
        self._suffix.observe(record.suffix_ms)
        cached = record.cached_tokens or 0
        self._add("decision_decisions_total", record.decisions or 0)
        self._add("decision_input_tokens_total", record.input_tokens or 0)
        self._add("decision_cached_tokens_total", cached)
        self._add("decision_prefix_cache_hits_total" if cached else "decision_prefix_cache_misses_total", 1)

    def text(self, *, in_flight: int, waiting: int) -> str:
        """All there is to tell, with how many requests are being dealt with, and how many of them wait."""
        return "".join(f"{line}\n" for line in self._lines(in_flight, waiting))

    def _add(self, name: str, amount: int) -> None:
        count, what = self._totals[name]
        self._totals[name] = (count + amount, what)

    def _lines(self, in_flight: int, waiting: int) -> Iterator[str]:
        name = "decision_requests_total"
        yield from _head(name, "Requests by route, status and what became of them", "counter")
        for (route, status, outcome), count in sorted(self._requests.items()):
            yield f'{name}{{route="{route}",status="{status}",outcome="{outcome}"}} {count}'
        for name, (count, what) in self._totals.items():
            yield from _head(name, what, "counter")
            yield f"{name} {count}"
        gauges = (
            ("decision_requests_in_flight", in_flight, "Requests that have arrived and have no answer yet"),
            ("decision_requests_waiting", waiting, "Requests that wait for their turn"),
        )
        for name, value, what in gauges:
            yield from _head(name, what, "gauge")
            yield f"{name} {value}"
        for histogram in (self._total, self._queue, self._prefix, self._suffix):
            yield from histogram.lines()


def _head(name: str, what: str, kind: str) -> Iterator[str]:
    yield f"# HELP {name} {what}."
    yield f"# TYPE {name} {kind}"
