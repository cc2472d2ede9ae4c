"""The whole road: create, ask, change, ask while it changes, destroy."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable

import pytest

from tests.support.deployment import Deployment
from tests.support.waiting import eventually

pytestmark = pytest.mark.deploy

MakeEnvironment = Callable[[str], Deployment]

DECISION = {
    "id": "support-route",
    "state": "The customer cannot sign in.",
    "question": "Which queue should handle this request?",
    "options": [
        {"id": "account-access", "description": "Account access support."},
        {"id": "billing", "description": "Billing support."},
    ],
}


def ask(deployment: Deployment) -> dict[str, object]:
    answer = deployment.hosting.runtime.invoke_endpoint(
        EndpointName=deployment.endpoint, ContentType="application/json", Body=json.dumps({"decision": DECISION})
    )
    result: dict[str, object] = json.loads(answer["Body"].read())["result"]
    return result


def config_of(deployment: Deployment) -> str:
    return deployment.hosting.sagemaker.describe_endpoint(EndpointName=deployment.endpoint)["EndpointConfigName"]


def test_a_deploy_answers_changes_without_a_failed_request_and_leaves_nothing(environment: MakeEnvironment) -> None:
    road = environment("road")

    created = road.deploy()
    assert created.succeeded, created.text
    result = ask(road)
    assert sum(result["probabilities"]) == pytest.approx(1, abs=1e-6)  # type: ignore[call-overload]
    assert result["option_ids"] == ["account-access", "billing"]
    assert result["model"]["sha256"] == road.digest  # type: ignore[index]
    first_config = config_of(road)

    again = road.deploy()
    assert again.succeeded
    assert "no changes" in again.text, again.text
    assert config_of(road) == first_config

    road.settings["endpoint"]["compute"]["threads"] = 2
    with _asking(road) as answers:
        updated = road.deploy()
    assert updated.succeeded, updated.text
    assert answers.failures == []
    assert answers.given > 0
    assert config_of(road) != first_config
    assert ask(road)["model"]["threads"] == 2  # type: ignore[index]

    destroyed = road.destroy()
    assert destroyed.succeeded, destroyed.text
    hosting = road.hosting
    assert not road.has_endpoint()
    assert not [m for m in hosting.sagemaker.list_models()["Models"] if road.name in m["ModelName"].lower()]
    assert not [b for b in hosting.s3.list_buckets()["Buckets"] if b["Name"].startswith(f"{road.name}-")]
    eventually(
        lambda: not list((road.cloud.home / "models").glob(f"*{road.endpoint}*")), "its containers' files are gone"
    )


def test_a_killed_container_turns_the_status_and_the_next_deploy_still_works(environment: MakeEnvironment) -> None:
    killed = environment("killed")
    assert killed.deploy().succeeded
    sagemaker = killed.hosting.sagemaker

    def status() -> str:
        return sagemaker.describe_endpoint(EndpointName=killed.endpoint)["EndpointStatus"]

    killed.kill_container()
    eventually(lambda: status() == "OutOfService", "the status turns")
    eventually(lambda: status() == "InService", "the container is restarted")
    ask(killed)

    killed.settings["endpoint"]["context_tokens"] = 2048
    killed.kill_container()
    redeployed = killed.deploy()
    assert redeployed.succeeded, redeployed.text
    assert ask(killed)["model"]["context_tokens"] == 2048  # type: ignore[index]


class _asking:  # noqa: N801  reads as a phrase: with _asking(…) as answers
    """Asks again and again in the background, as an application would while its endpoint is updated."""

    def __init__(self, deployment: Deployment) -> None:
        self.given = 0
        self.failures: list[str] = []
        self._deployment = deployment
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask_on)

    def __enter__(self) -> _asking:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _ask_on(self) -> None:
        while not self._over.wait(0.1):
            try:
                ask(self._deployment)
            except Exception as error:  # noqa: BLE001  any failure is what this test looks for
                self.failures.append(repr(error))
            else:
                self.given += 1
