"""What Prometheus reads, with its own parser, and what it must never read: a word of the caller's."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from decision_adapter.metrics import Metrics
from decision_adapter.request_log import RequestRecord


def answered(**fields: object) -> RequestRecord:
    told = {
        "request_id": "r", "path": "/invocations", "status": 200, "outcome": "answered", "decisions": 2,
        "queue_ms": 4.0, "prefix_ms": 300.0, "suffix_ms": 5.0, "total_ms": 400.0, "input_tokens": 90,
        "cached_tokens": 0,
    }  # fmt: skip
    return RequestRecord(**told | fields)  # type: ignore[arg-type]


def samples(metrics: Metrics) -> dict[tuple[str, str], float]:
    """All values, by the name of the series and its labels."""
    text = metrics.text(in_flight=3, waiting=2)
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_requests_are_counted_by_route_status_and_outcome() -> None:
    metrics = Metrics()
    for record in (answered(), answered(), answered(status=503, outcome="busy"), answered(path="/v1/systemone")):
        metrics.observe(record)

    counted = {labels: value for (name, labels), value in samples(metrics).items() if name == "decision_requests_total"}
    assert counted == {"/invocations,200,answered": 2, "/invocations,503,busy": 1, "/v1/systemone,200,answered": 1}


def test_tokens_and_hits_of_the_cache_are_counted_of_what_was_answered() -> None:
    metrics = Metrics()
    for record in (answered(), answered(cached_tokens=40), answered(outcome="refused", status=400)):
        metrics.observe(record)

    found = samples(metrics)
    assert found["decision_decisions_total", ""] == 4
    assert found["decision_input_tokens_total", ""] == 180
    assert found["decision_cached_tokens_total", ""] == 40
    assert found["decision_prefix_cache_hits_total", ""] == 1
    assert found["decision_prefix_cache_misses_total", ""] == 1


def test_durations_are_histograms_in_seconds() -> None:
    metrics = Metrics()
    metrics.observe(answered())
    metrics.observe(answered(prefix_ms=70_000.0))

    found = samples(metrics)
    assert found["decision_prefix_seconds_bucket", "0.25"] == 0
    assert found["decision_prefix_seconds_bucket", "0.5"] == 1
    assert found["decision_prefix_seconds_bucket", "60.0"] == 1
    assert found["decision_prefix_seconds_bucket", "+Inf"] == found["decision_prefix_seconds_count", ""] == 2
    assert found["decision_prefix_seconds_sum", ""] == 70.3
    assert found["decision_queue_seconds_bucket", "0.005"] == 2


def test_what_is_going_on_is_told_as_it_is_now() -> None:
    found = samples(Metrics())

    assert found["decision_requests_in_flight", ""] == 3
    assert found["decision_requests_waiting", ""] == 2


def test_every_series_says_what_it_is() -> None:
    families = list(text_string_to_metric_families(Metrics().text(in_flight=0, waiting=0)))

    assert all(family.documentation for family in families)
    assert {family.type for family in families} == {"counter", "gauge", "histogram"}
