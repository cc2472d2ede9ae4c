"""The whole road of an environment for AWS: create, ask, change, ask while it changes, fail, destroy."""

from __future__ import annotations

import json
import shlex
import threading
from typing import Any

import pytest

from tests.support.deployment import Deployment, MakeEnvironment, Verification
from tests.support.fake_hub import FakeHub
from tests.support.waiting import eventually

pytestmark = pytest.mark.deploy

DECISION = {
    "id": "support-route",
    "state": "The customer cannot sign in.",
    "question": "Which queue should handle this request?",
    "options": [
        {"id": "account-access", "description": "Account access support."},
        {"id": "billing", "description": "Billing support."},
    ],
}


def ask(deployment: Deployment) -> dict[str, Any]:
    answer = deployment.hosting.runtime.invoke_endpoint(
        EndpointName=deployment.endpoint, ContentType="application/json", Body=json.dumps({"decision": DECISION})
    )
    result: dict[str, Any] = json.loads(answer["Body"].read())["result"]
    return result


def test_dev_answers_follows_each_change_comes_back_from_a_bad_one_and_leaves_nothing(
    environment: MakeEnvironment,
) -> None:
    road = environment("road", like="dev")
    hosting, before = road.hosting, road.hosting.everything()

    with FakeHub() as hub:
        road.take_from(hub, seed=1)
        _is_created(road)
        _finds_no_changes(road)
        _changes_threads_without_a_failed_request(road)
        _changes_model_and_image(road, hub)
        running = road.digest
        _packages_what_the_adapter_will_refuse(road, hub)
    _rolls_back_with_nothing_but_what_is_stored(road, to=running)

    destroyed = road.destroy()
    assert destroyed.succeeded, destroyed.text
    assert hosting.everything() - before == set()
    eventually(
        lambda: not list((road.cloud.home / "models").glob(f"*{road.endpoint}*")), "its containers' files are gone"
    )


def _is_created(road: Deployment) -> None:
    created = road.deploy()
    assert created.succeeded, created.text
    result = ask(road)
    assert sum(result["probabilities"]) == pytest.approx(1, abs=1e-6)
    assert result["option_ids"] == ["account-access", "billing"]
    assert result["model"]["sha256"] == road.digest
    outputs = road.outputs()
    assert outputs["EndpointName"] == road.endpoint
    assert outputs["ModelDigest"] == road.digest
    assert outputs["ModelS3Uri"] == f"s3://{road.bucket()}/{road.model_key.rpartition('/')[0]}/"
    assert outputs["ImageDigest"].startswith("sha256:")
    assert outputs["DashboardUrl"].startswith("https://")
    assert outputs["InvokeCommand"] in created.text
    said = shlex.split(outputs["InvokeCommand"])
    assert said[:3] == ["aws", "sagemaker-runtime", "invoke-endpoint"]
    pasted = dict(zip(said[3::2], said[4::2], strict=False))
    answer = road.hosting.runtime.invoke_endpoint(
        EndpointName=pasted["--endpoint-name"], ContentType=pasted["--content-type"], Body=pasted["--body"]
    )
    assert json.loads(answer["Body"].read())["result"]["model"]["sha256"] == road.digest


def _finds_no_changes(road: Deployment) -> None:
    stands = (road.config(), road.hosting.builds(), road.verifications())
    again = road.deploy()
    assert again.succeeded
    assert again.text.count("no changes") == 2, again.text
    assert (road.config(), road.hosting.builds(), road.verifications()) == stands


def _changes_threads_without_a_failed_request(road: Deployment) -> None:
    first, builds, verifications = road.config(), road.hosting.builds(), road.verifications()
    road.settings["endpoint"]["compute"]["threads"] = 2
    with _asking(road) as answers:
        updated = road.deploy()
    assert updated.succeeded, updated.text
    assert answers.failures == []
    assert answers.given > 0
    assert road.config() != first
    assert ask(road)["model"]["threads"] == 2
    assert (road.hosting.builds(), road.verifications()) == (builds, verifications)


def _changes_model_and_image(road: Deployment, hub: FakeHub) -> None:
    first_key, first_image, builds = road.model_key, road.outputs()["ImageDigest"], road.hosting.builds()
    road.take_from(hub, seed=2)
    road.settings["endpoint"]["image"]["build"]["rebuild"] = "2026-12"
    changed = road.deploy()
    assert changed.succeeded, changed.text
    assert ask(road)["model"]["sha256"] == road.digest
    stored = road.hosting.s3.list_objects_v2(Bucket=road.bucket(), Prefix="models/")["Contents"]
    assert {first_key, road.model_key} <= {entry["Key"] for entry in stored}
    assert len(road.hosting.builds() - builds) == 2, "a package and an image"
    image = road.outputs()["ImageDigest"]
    assert image != first_image
    assert image in road.running_image()


def _packages_what_the_adapter_will_refuse(road: Deployment, hub: FakeHub) -> None:
    hub.files.clear()
    road.take_from(hub, seed=3, chat_template=None)
    assert road.synthesize().succeeded
    assert road.package()["digest"] == road.digest


def _rolls_back_with_nothing_but_what_is_stored(road: Deployment, *, to: str) -> None:
    """The hub is switched off, and what runs was not on it any more before that."""
    builds, verifications = road.hosting.builds(), road.verifications()
    failed = road.deploy_synthesized()
    assert not failed.succeeded
    assert "has no chat template" in failed.text
    assert road.stack()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert ask(road)["model"]["sha256"] == to
    assert road.outputs()["ModelDigest"] == to
    assert road.hosting.builds() == builds
    # The new one is read, once; of the old one the record is enough.
    assert road.verifications()[len(verifications) :] == [Verification(road.digest, False), Verification(to, True)]


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
    assert ask(killed)["model"]["context_tokens"] == 2048


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
