"""A packaging build that fails says why where the person who deploys looks: in the CLI's output."""

from __future__ import annotations

import re

import pytest

from tests.support.deployment import REPOSITORY, REVISION, Deployment, MakeEnvironment
from tests.support.fake_hub import FakeHub

pytestmark = pytest.mark.deploy

LINK = re.compile(r"https://\S+logsV2:log-groups/log-group/\S+/log-events/\S+")


def test_what_the_hub_gives_wrongly_or_not_at_all_is_in_the_stack_event_with_phase_and_log(
    environment: MakeEnvironment,
) -> None:
    unbuilt = environment("unbuilt")
    with FakeHub() as hub:
        path = unbuilt.take_from(hub, seed=1)
        right = hub.files.pop(path)
        assert unbuilt.synthesize().succeeded
        _fails_in_its_build(unbuilt, f"has no unbuilt-1.gguf of {REPOSITORY} at revision {REVISION} (404): correct")

        hub.files[path] = right[:-1] + bytes([right[-1] ^ 1])
        _fails_in_its_build(unbuilt, f"the pin says {unbuilt.digest}: correct the pin, or give the file it names")

    stored = unbuilt.hosting.s3.list_objects_v2(Bucket=unbuilt.bucket(), Prefix="models/")
    assert stored["KeyCount"] == 0, "a package that was refused leaves nothing in the store"
    assert not unbuilt.has_endpoint()


def _fails_in_its_build(deployment: Deployment, sentence: str) -> None:
    deployed = deployment.deploy_synthesized()
    assert not deployed.succeeded
    said = " ".join(deployed.text.split())
    assert "FAILED in phase BUILD" in said, deployed.text
    assert sentence in said, deployed.text
    assert LINK.search(said), deployed.text
    assert "deploy again" in said
