"""The adapter's real log lines meet the real filters of a template: each signal's line matches its own and no other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx
import pytest
from aws_cdk.assertions import Template

from decision_adapter.request_log import LOW_SLOT_MASS
from decision_endpoints import AlarmThresholds, EndpointAlarms, InvalidArguments
from local_cloud.cloudwatch.filter_pattern import FilterPattern
from tests.support.adapter_process import STUB_ADAPTER, AdapterProcess
from tests.support.semif_requests import single
from tests.support.synth import endpoint, new_stack, resources, source
from tests.support.waiting import eventually


@pytest.fixture(scope="module")
def filters(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FilterPattern]:
    """The patterns of a synthesized endpoint's metric filters, by the metric's own part of its name."""
    stack = new_stack()
    EndpointAlarms(stack, "Alarms", endpoint=endpoint(stack, source(tmp_path_factory.mktemp("model"))))
    found = [f["Properties"] for f in resources(Template.from_stack(stack), "AWS::Logs::MetricFilter")]
    return {
        f["MetricTransformations"][0]["MetricName"].removeprefix("decisions-test/"): FilterPattern.parse(
            f["FilterPattern"]
        )
        for f in found
    }


@pytest.fixture(scope="module")
def serving(environment: dict[str, str]) -> Iterator[AdapterProcess]:
    """An adapter that does as it is told, for tests that leave it as it was."""
    with AdapterProcess(environment, command=STUB_ADAPTER) as adapter:
        yield adapter.ready()


def matching(filters: Mapping[str, FilterPattern], line: str) -> set[str]:
    return {name for name, pattern in filters.items() if pattern.matches(line)}


def lines_of(adapter: AdapterProcess, asked: Callable[[httpx.Client], object], *, count: int = 1) -> list[str]:
    """The lines that the adapter writes when it is asked this."""
    before = len(adapter.lines)
    with adapter.client() as client:
        asked(client)
    return eventually(
        lambda: adapter.lines[before:] if len(adapter.lines) >= before + count else None, f"{count} log lines"
    )


def ask(state: Any) -> Callable[[httpx.Client], object]:
    return lambda client: client.post("/invocations", json=single(state))


def test_an_answered_request_is_measured(filters: dict[str, FilterPattern], serving: AdapterProcess) -> None:
    (line,) = lines_of(serving, ask("The customer cannot sign in."))

    assert matching(filters, line) == {"QueueMilliseconds"}
    assert json.loads(line)["queue_ms"] >= 0


def test_a_busy_503_is_counted_as_busy(filters: dict[str, FilterPattern], environment: dict[str, str]) -> None:
    told = environment | {"DECISION_DEADLINE_SECONDS": "1"}
    with AdapterProcess(told, command=STUB_ADAPTER) as adapter:
        (line,) = lines_of(adapter.ready(), ask(["sleep", 1.5]))

    assert json.loads(line)["status"] == 503
    assert matching(filters, line) == {"Busy"}


def test_a_request_that_is_wrong_is_counted_as_refused(
    filters: dict[str, FilterPattern], serving: AdapterProcess
) -> None:
    (line,) = lines_of(serving, lambda client: client.post("/invocations", json={"decision": {}}))

    assert json.loads(line)["status"] == 400
    assert matching(filters, line) == {"Refused"}


def test_a_500_is_counted_as_failed(filters: dict[str, FilterPattern], serving: AdapterProcess) -> None:
    lines = lines_of(serving, ask(["fail"]), count=2)

    # Whatever else it has to say of it: one of the lines counts.
    assert sorted(map(sorted, (matching(filters, line) for line in lines))) == [[], ["Failed"]]


def test_an_answer_beside_the_options_has_a_line_of_its_own_for_its_low_slot_mass(
    filters: dict[str, FilterPattern], serving: AdapterProcess
) -> None:
    lines = lines_of(serving, ask(["logits", "0", "0", "9"]), count=2)

    assert [matching(filters, line) for line in lines] == [{"QueueMilliseconds"}, {"LowSlotMass"}]


def test_a_503_while_the_model_is_not_loaded_is_counted_as_failed_and_not_as_busy(
    filters: dict[str, FilterPattern], environment: dict[str, str]
) -> None:
    with AdapterProcess(environment | {"STUB_LOAD_SECONDS": "60"}, command=STUB_ADAPTER) as adapter:
        adapter.event("listening")
        with adapter.client() as client:
            client.post("/invocations", json=single())
        adapter.event("request")

        (line,) = [line for line in adapter.lines if '"request"' in line]

    assert matching(filters, line) == {"Failed"}


def test_a_model_with_another_digest_is_counted_as_a_load_failure(
    filters: dict[str, FilterPattern], environment: dict[str, str]
) -> None:
    with AdapterProcess(environment | {"DECISION_MODEL_SHA256": "ab" * 32}, command=STUB_ADAPTER) as adapter:
        adapter.event("model_refused")

    assert _counted(filters, adapter) == {"LoadFailures": 1}


def test_an_engine_that_does_not_load_is_counted_as_a_load_failure(
    filters: dict[str, FilterPattern], environment: dict[str, str]
) -> None:
    with AdapterProcess(environment | {"STUB_REFUSES": "no engine"}, command=STUB_ADAPTER) as adapter:
        adapter.exit_code()

    assert _counted(filters, adapter) == {"LoadFailures": 1}


def test_layers_that_found_no_gpu_are_counted_as_an_offload_failure(
    filters: dict[str, FilterPattern], environment: dict[str, str]
) -> None:
    with AdapterProcess(environment | {"DECISION_GPU_LAYERS": "99"}) as adapter:
        adapter.exit_code()

    assert _counted(filters, adapter) == {"OffloadFailures": 1}
    (line,) = adapter.events("model_refused")
    assert (line["asked"], line["offloaded"]) == (99, 0)
    assert line["devices"]


def test_a_start_that_goes_well_counts_as_nothing(
    filters: dict[str, FilterPattern], environment: dict[str, str]
) -> None:
    with AdapterProcess(environment, command=STUB_ADAPTER) as adapter:
        adapter.ready()
        adapter.terminate()
        adapter.exit_code()

    assert {"listening", "loading", "ready", "stopping", "stopped"} <= {
        json.loads(line)["event"] for line in adapter.lines
    }
    assert _counted(filters, adapter) == {}


def test_no_filter_is_without_a_test_here(filters: dict[str, FilterPattern]) -> None:
    assert set(filters) == {
        "QueueMilliseconds", "Busy", "Refused", "Failed", "LowSlotMass", "LoadFailures", "OffloadFailures",
    }  # fmt: skip


def test_what_the_adapter_calls_low_covers_what_an_alarm_may_ask_for() -> None:
    assert AlarmThresholds(slot_mass=LOW_SLOT_MASS)
    with pytest.raises(InvalidArguments):
        AlarmThresholds(slot_mass=LOW_SLOT_MASS + 0.01)


def test_a_line_that_is_no_json_matches_no_filter(filters: dict[str, FilterPattern]) -> None:
    assert matching(filters, 'Traceback (most recent call last): "request"') == set()


def _counted(filters: Mapping[str, FilterPattern], adapter: AdapterProcess) -> dict[str, int]:
    """How many of its lines each filter matches, of those that match any."""
    counts: dict[str, int] = {}
    for line in adapter.lines:
        for name in matching(filters, line):
            counts[name] = counts.get(name, 0) + 1
    return counts
