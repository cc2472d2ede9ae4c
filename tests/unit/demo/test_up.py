"""`make demo` after the preflight, with a CDK CLI and an endpoint from a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from decision_client import DecisionClient
from decision_client.examples import SAMPLE_ANSWER
from local_cloud.demo import up as demo
from local_cloud.demo.cdk import CdkCli, CdkFailed
from local_cloud.demo.questions import THREE_DECISIONS
from local_cloud.lifecycle import LocalCloudError
from local_cloud.running_cloud import RunningCloud

CdkThat = Callable[[str], Path]
DEPLOYED = """
while [ $# -gt 0 ]; do
  [ "$1" = --outputs-file ] && echo '{"A": {}, "local-Endpoint": {"EndpointName": "decisions-local"}}' > "$2"; shift
done; true
"""


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, cloud: RunningCloud) -> list[bytes]:
    """Every step before and after the CLI goes well; the list is filled with what the endpoint is asked."""
    asked: list[bytes] = []

    def answer(self: DecisionClient, body: bytes) -> bytes:
        asked.append(body)
        decisions = json.loads(body).get("decisions")
        if decisions is None:
            return SAMPLE_ANSWER
        result = json.loads(SAMPLE_ANSWER)["result"]
        seconds = {"prefill_seconds": 0.1, "suffix_forward_seconds": 0.1, "total_seconds": 0.2}
        results = [{**result, "id": decision["id"]} for decision in decisions]
        return json.dumps({"results": results, "timing": {"batch_size": 3, "prefix_tokens": 9, **seconds}}).encode()

    monkeypatch.setattr(DecisionClient, "ask", answer)
    monkeypatch.setattr(demo, "start", lambda home, port: cloud)
    monkeypatch.setattr(CdkCli, "is_bootstrapped", lambda self: False)
    return asked


def test_the_demo_bootstraps_deploys_and_asks_one_decision_and_then_three(
    console: Console, cloud: RunningCloud, cdk_that: CdkThat, asked: list[bytes]
) -> None:
    calls = cdk_that(DEPLOYED)

    assert demo.up(console, home=cloud.home) == 0

    assert [line.split()[:2] for line in calls.read_text().splitlines()] == [
        ["bootstrap", "aws://123456789012/us-east-1"],
        ["deploy", "local/*"],
    ]
    assert json.loads(asked[0])["decision"]["id"] == "support-route"
    assert len(json.loads(asked[1])["decisions"]) == 3


def test_the_demo_ends_with_what_runs_how_to_ask_again_and_how_to_stop(
    console: Console, cloud: RunningCloud, cdk_that: CdkThat, asked: list[bytes], shown: Callable[[], str]
) -> None:
    cdk_that(DEPLOYED)

    demo.up(console, home=cloud.home)

    end = shown()[-1000:]
    for said in (
        "decisions-local",
        cloud.endpoint_url,
        str(cloud.pid),
        "emulator.log",
        "decisions invoke",
        "make down",
    ):
        assert said in end


def test_a_cloud_that_is_bootstrapped_is_not_bootstrapped_again(
    console: Console, cloud: RunningCloud, cdk_that: CdkThat, asked: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = cdk_that(DEPLOYED)
    monkeypatch.setattr(CdkCli, "is_bootstrapped", lambda self: True)

    demo.up(console, home=cloud.home)

    assert [line.split()[0] for line in calls.read_text().splitlines()] == ["deploy"]


def test_a_failed_deploy_ends_the_demo_with_its_reason(
    console: Console, cloud: RunningCloud, cdk_that: CdkThat, asked: list[bytes], shown: Callable[[], str]
) -> None:
    cdk_that('[ "$1" = bootstrap ] || { echo "environments/local.yaml: unknown key"; exit 1; }')

    assert demo.up(console, home=cloud.home) == 1

    assert "The demo stopped: environments/local.yaml: unknown key" in shown()
    assert f"The whole output is in {cloud.home}/deploy.log." in shown()
    assert asked == []


def test_a_cloud_that_cannot_start_ends_the_demo_with_its_reason(
    console: Console, tmp_path: Path, shown: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(home: Path, port: int) -> RunningCloud:
        raise LocalCloudError(f"port {port} of 127.0.0.1 is taken by another process")

    monkeypatch.setattr(demo, "start", refuse)

    assert demo.up(console, home=tmp_path, port=4566) == 1
    assert "port 4566 of 127.0.0.1 is taken" in shown()


def test_stacks_without_an_endpoint_name_are_a_clear_failure() -> None:
    with pytest.raises(CdkFailed, match="no stack has the output EndpointName, of A, B"):
        demo.endpoint_name_of({"A": {"Bucket": "x"}, "B": {}})


def test_the_three_decisions_share_one_state_and_have_ids_of_their_own() -> None:
    assert len({json.dumps(decision.state) for decision in THREE_DECISIONS}) == 1
    assert len({decision.id for decision in THREE_DECISIONS}) == 3
