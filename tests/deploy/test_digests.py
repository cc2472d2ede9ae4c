"""Bytes that are not the pinned ones never answer, wherever on the road they changed."""

from __future__ import annotations

import pytest

from tests.support.deployment import Deployment, MakeEnvironment, flip_last_byte
from tests.support.waiting import eventually

pytestmark = pytest.mark.deploy

WRONG = "0" * 63 + "7"


def test_a_wrong_digest_in_the_environment_is_refused_before_anything_is_made(environment: MakeEnvironment) -> None:
    wrong = environment("wrong-pin")
    right = wrong.digest
    wrong.settings["model"]["source"]["local"]["sha256"] = WRONG

    deployed = wrong.deploy()

    assert not deployed.succeeded
    assert all(words in deployed.text for words in (wrong.model_file.name, right, WRONG)), deployed.text
    assert "Traceback" not in deployed.text
    assert not wrong.has_endpoint()
    assert not [b for b in wrong.hosting.s3.list_buckets()["Buckets"] if b["Name"].startswith(wrong.name)]


def test_a_byte_that_changed_before_the_upload_stops_the_packaging_build(environment: MakeEnvironment) -> None:
    corrupted = environment("bad-source")
    assert corrupted.synthesize().succeeded
    found = flip_last_byte(corrupted.model_file)

    deployed = corrupted.deploy_synthesized()

    assert not deployed.succeeded
    assert all(words in deployed.text for words in (corrupted.model_file.name, found, corrupted.digest)), deployed.text
    assert not corrupted.has_endpoint()
    keys = corrupted.hosting.s3.list_objects_v2(Bucket=corrupted.bucket(), Prefix="models/").get("Contents", [])
    assert keys == [], "a package that was refused leaves nothing in the store"


def test_a_byte_that_changed_in_the_store_stops_the_deploy_that_would_use_it(
    environment: MakeEnvironment,
) -> None:
    stored = environment("bad-store")
    assert stored.deploy().succeeded
    found = _flip_stored_byte(stored)
    # Another endpoint setting alone would not call the custom resource again: its properties would be the same.
    gone = stored.destroy("Endpoint")
    assert gone.succeeded, gone.text

    deployed = stored.deploy()

    assert not deployed.succeeded
    assert all(words in deployed.text for words in (stored.model_file.name, found, stored.digest)), deployed.text
    assert not stored.has_endpoint()


def test_a_byte_that_changed_after_the_deploy_keeps_a_restarted_endpoint_out_of_service(
    environment: MakeEnvironment,
) -> None:
    running = environment("bad-restart")
    assert running.deploy().succeeded
    found = _flip_stored_byte(running)

    running.kill_container()

    def refused() -> bool:
        endpoint = running.hosting.sagemaker.describe_endpoint(EndpointName=running.endpoint)
        log = running.container_log()
        return endpoint["EndpointStatus"] == "OutOfService" and found in log and running.digest in log

    eventually(refused, "the restarted container refuses the bytes and names both digests")


def _flip_stored_byte(deployment: Deployment) -> str:
    """Change the packaged model in the store, past its write-once policy, and return the digest it has now."""
    s3 = deployment.hosting.s3
    bucket, key = deployment.bucket(), deployment.model_key
    file = deployment.folder / "stored.gguf"
    file.write_bytes(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    found = flip_last_byte(file)
    s3.put_object(Bucket=bucket, Key=key, Body=file.read_bytes())
    return found
