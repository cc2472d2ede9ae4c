"""After InService somebody keeps watch: a container that dies or turns unhealthy is replaced."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from tests.support.hosting import BUCKET, Hosting, from_prefix
from tests.support.waiting import eventually


def test_a_killed_container_takes_the_endpoint_out_of_service_until_it_is_replaced(hosting: Hosting) -> None:
    endpoint = hosting.deploy()
    pid = hosting.ask(endpoint)["pid"]

    os.kill(pid, signal.SIGKILL)

    out = hosting.reaches(endpoint, "OutOfService")
    assert "exited with signal 9" in out["FailureReason"]
    back = hosting.reaches(endpoint, "InService")
    assert "FailureReason" not in back
    assert hosting.ask(endpoint)["pid"] != pid


def test_a_container_whose_ping_fails_again_and_again_is_replaced(hosting: Hosting) -> None:
    endpoint = hosting.deploy()
    pid = hosting.ask(endpoint, unhealthy=True)["pid"]

    out = hosting.reaches(endpoint, "OutOfService")

    assert "failed the ping health check 3 times in a row" in out["FailureReason"]
    hosting.reaches(endpoint, "InService")
    assert hosting.ask(endpoint)["pid"] != pid


def test_while_no_instance_is_healthy_the_service_is_unavailable(hosting: Hosting, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    ready.touch()
    endpoint = hosting.deploy(environment={"READY_AFTER_FILE": str(ready)})
    ready.unlink()
    hosting.reaches(endpoint, "OutOfService")

    with pytest.raises(ClientError) as unavailable:
        hosting.ask(endpoint)

    assert unavailable.value.response["Error"]["Code"] == "ServiceUnavailable"
    assert unavailable.value.response["ResponseMetadata"]["HTTPStatusCode"] == 503
    ready.touch()
    hosting.reaches(endpoint, "InService")


def test_an_endpoint_out_of_service_recovers_with_the_next_update(hosting: Hosting, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    ready.touch()
    endpoint = hosting.deploy(environment={"READY_AFTER_FILE": str(ready)})
    ready.unlink()
    hosting.reaches(endpoint, "OutOfService")

    hosting.sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=hosting.define())

    assert hosting.settled(endpoint)["EndpointStatus"] == "InService"
    assert hosting.ask(endpoint)["pid"]


def test_a_replacement_downloads_its_model_again(hosting: Hosting) -> None:
    hosting.put_model("changing/", **{"model.gguf": b"before"})
    endpoint = hosting.deploy(ModelDataSource=from_prefix("changing/"))
    container = hosting.ask(endpoint)

    hosting.s3.put_object(Bucket=BUCKET, Key="changing/model.gguf", Body=b"after")
    os.kill(container["pid"], signal.SIGKILL)
    hosting.reaches(endpoint, "OutOfService")
    hosting.reaches(endpoint, "InService")

    assert container["files"] == {"model.gguf": "before"}
    assert hosting.ask(endpoint)["files"] == {"model.gguf": "after"}


def test_a_replacement_that_refuses_its_model_keeps_the_endpoint_out_of_service_with_its_reason(
    hosting: Hosting,
) -> None:
    hosting.put_model("corrupted/", **{"model.gguf": b"good"})
    endpoint = hosting.deploy(ModelDataSource=from_prefix("corrupted/"))
    pid = hosting.ask(endpoint)["pid"]

    hosting.s3.put_object(Bucket=BUCKET, Key="corrupted/model.gguf", Body=b"corrupt")
    os.kill(pid, signal.SIGKILL)

    hosting.reaches(endpoint, "OutOfService")
    eventually(
        lambda: hosting.describe(endpoint)["FailureReason"] == "model.gguf is corrupt", "the container's reason shows"
    )


def test_while_one_of_two_instances_serves_the_endpoint_stays_in_service(hosting: Hosting) -> None:
    endpoint = hosting.deploy(count=2)
    pid = hosting.ask(endpoint)["pid"]

    os.kill(pid, signal.SIGKILL)

    one = eventually(lambda: instances(hosting, endpoint) == 1, "one instance is missed")
    assert one
    assert hosting.describe(endpoint)["EndpointStatus"] == "InService"
    assert hosting.ask(endpoint)["pid"] != pid
    eventually(lambda: instances(hosting, endpoint) == 2, "it is replaced")


def instances(hosting: Hosting, endpoint: str) -> int:
    count: int = hosting.describe(endpoint)["ProductionVariants"][0]["CurrentInstanceCount"]
    return count
