"""An environment that keeps what is stateful: a first create that fails, destroyed, deployed again, rolled back."""

from __future__ import annotations

import time

import pytest

from tests.support.deployment import Deployment, MakeEnvironment, local_source
from tests.support.tiny_gguf import write_tiny_gguf

pytestmark = pytest.mark.deploy

REFUSAL = "has no chat template"


def test_the_log_of_a_failed_create_outlives_its_stacks_and_an_alarm_on_it_undoes_an_update(
    environment: MakeEnvironment,
) -> None:
    kept = environment("kept")
    kept.settings["retain"] = True
    kept.settings["endpoint"]["rollout"] = {"all_at_once": {"bake_minutes": 5}}
    good = kept.settings["model"]["source"]

    _fails_to_be_created(kept)
    _is_destroyed_once_its_protection_is_off(kept)
    assert any(REFUSAL in line for line in _log(kept)), "the failed container's last words are still there"

    kept.settings["model"]["source"] = good
    redeployed = kept.deploy()
    assert redeployed.succeeded, redeployed.text
    assert any(REFUSAL in line for line in _log(kept)), "the group was taken over with its lines"
    assert any('"event":"ready"' in line.replace(" ", "") for line in _log(kept))

    _an_alarm_undoes_an_update(kept)


def _fails_to_be_created(kept: Deployment) -> None:
    refused = write_tiny_gguf(kept.folder / "refused.gguf", seed=1, chat_template=None)
    kept.settings["model"]["source"] = {"local": local_source(refused)}
    created = kept.deploy()
    assert not created.succeeded
    assert REFUSAL in created.text
    assert kept.stack()["StackStatus"] == "ROLLBACK_COMPLETE"


def _is_destroyed_once_its_protection_is_off(kept: Deployment) -> None:
    protected = kept.destroy()
    assert not protected.succeeded
    assert "TerminationProtection is enabled" in protected.text
    kept.hosting.cloudformation.update_termination_protection(
        StackName="kept-Artifacts", EnableTerminationProtection=False
    )
    destroyed = kept.destroy()
    assert destroyed.succeeded, destroyed.text


def _an_alarm_undoes_an_update(kept: Deployment) -> None:
    group, stream, logs = _group(kept), "main/i-0", kept.hosting.logs
    line = '{"event": "model_refused", "cause": "model", "reason": "of another container"}'
    now = int(time.time() * 1000)
    logs.create_log_stream(logGroupName=group, logStreamName=stream)
    # The alarm counts in periods of five minutes: the update may reach into the next one.
    logs.put_log_events(
        logGroupName=group,
        logStreamName=stream,
        logEvents=[{"timestamp": at, "message": line} for at in (now, now + 300_000)],
    )
    before = kept.config()

    kept.settings["endpoint"]["compute"]["threads"] = 2
    undone = kept.deploy()

    assert not undone.succeeded
    assert "are in ALARM state" in undone.text
    assert kept.stack()["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE"
    assert kept.hosting.describe(kept.endpoint)["EndpointStatus"] == "InService"
    assert kept.config() == before


def _group(kept: Deployment) -> str:
    return f"/aws/sagemaker/Endpoints/{kept.endpoint}"


def _log(kept: Deployment) -> list[str]:
    return [event["message"] for event in kept.hosting.events(_group(kept))]
