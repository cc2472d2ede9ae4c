"""An endpoint is a process on this machine: it starts, is replaced, and goes as SageMaker's containers do."""

from __future__ import annotations

import io
import tarfile
import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.hosting import BUCKET, Hosting, from_prefix, is_alive
from tests.support.waiting import eventually


def test_a_container_finds_its_model_read_only_where_it_is_told_to_look(hosting: Hosting) -> None:
    hosting.put_model("plain/", **{"model.gguf": b"GGUF", "sub/notes.txt": b"x"})
    hosting.put_model("plainer/", **{"other.gguf": b"no"})

    container = hosting.ask(hosting.deploy(ModelDataSource=from_prefix("plain/")))

    assert container["files"] == {"model.gguf": "GGUF", "sub/notes.txt": "x"}
    assert container["modes"] == ["0o444"]
    assert Path(container["environment"]["DECISION_MODEL_DIR"]).is_relative_to(hosting.home / "models")


def test_a_container_gets_its_own_environment_and_nothing_of_aws(hosting: Hosting) -> None:
    environment = hosting.ask(hosting.deploy(environment={"DECISION_HOST": "0.0.0.0", "OWN": "x"}))["environment"]

    assert environment["OWN"] == "x"
    assert environment["DECISION_HOST"] == "127.0.0.1"
    assert [name for name in environment if name.startswith("AWS")] == []


def test_a_model_archive_is_unpacked(hosting: Hosting) -> None:
    hosting.put_model("archives/", **{"good.tar.gz": archive(regular("deep/model.gguf", b"GGUF"))})

    container = hosting.ask(hosting.deploy(ModelDataUrl=f"s3://{BUCKET}/archives/good.tar.gz"))

    assert container["files"] == {"deep/model.gguf": "GGUF"}


@pytest.mark.parametrize("name", ["../outside", "/absolute", "link"])
def test_a_model_archive_that_reaches_outside_fails_the_endpoint(hosting: Hosting, name: str) -> None:
    member = regular(name, b"x")
    if name == "link":
        member[0].type, member[0].linkname, member[0].size = tarfile.SYMTYPE, "/etc", 0
    key = f"{uuid.uuid4().hex}.tar.gz"
    hosting.put_model("archives/", **{key: archive(member)})
    endpoint = hosting.define(ModelDataUrl=f"s3://{BUCKET}/archives/{key}")

    hosting.sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)

    description = hosting.settled(endpoint)
    assert description["EndpointStatus"] == "Failed"
    assert repr(name) in description["FailureReason"]


def test_an_endpoint_without_model_data_fails_with_the_prefix(hosting: Hosting) -> None:
    hosting.put_model("somewhere/", **{"model.gguf": b"x"})
    endpoint = hosting.define(ModelDataSource=from_prefix("nowhere/"))

    hosting.sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)

    assert f"s3://{BUCKET}/nowhere/" in hosting.settled(endpoint)["FailureReason"]
    assert [path for path in (hosting.home / "models").iterdir() if endpoint in path.name] == []


def test_a_container_that_exits_fails_the_endpoint_with_its_own_reason_first(hosting: Hosting) -> None:
    endpoint = hosting.define(environment={"REFUSE": "model.gguf has SHA-256 aa, the pin says bb"})

    hosting.sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)

    description = hosting.settled(endpoint)
    assert description["EndpointStatus"] == "Failed"
    assert description["FailureReason"].startswith("model.gguf has SHA-256 aa, the pin says bb. ")
    assert "exited with code 3" in description["FailureReason"]
    assert "container is starting" in description["FailureReason"]
    with pytest.raises(ClientError, match="not found"):
        hosting.ask(endpoint)


def test_a_container_that_never_gets_ready_fails_the_endpoint_when_the_window_ends(hosting: Hosting) -> None:
    endpoint = hosting.define(environment={"REFUSE": "digests differ", "NEVER_READY": "1"})

    hosting.sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)

    description = hosting.settled(endpoint)
    assert description["EndpointStatus"] == "Failed"
    assert description["FailureReason"].startswith("digests differ. ")
    assert "did not pass the ping health check within 8 seconds" in description["FailureReason"]


def test_what_a_container_prints_is_in_its_file_and_in_its_log_group(hosting: Hosting) -> None:
    endpoint = hosting.deploy()

    group = f"/aws/sagemaker/Endpoints/{endpoint}"
    stream = hosting.logs.describe_log_streams(logGroupName=group)["logStreams"][0]["logStreamName"]
    events = hosting.logs.get_log_events(logGroupName=group, logStreamName=stream)["events"]
    files = list((hosting.home / "endpoints" / endpoint).iterdir())

    variant, _, instance = stream.partition("/")
    assert variant == "main"
    assert [event["message"] for event in events] == ["container is starting"]
    assert [file.name for file in files] == [f"main-{instance}.log"]
    assert files[0].read_text() == "container is starting\n"


def test_an_update_serves_with_the_old_instance_until_the_new_one_is_ready(hosting: Hosting, tmp_path: Path) -> None:
    endpoint = hosting.deploy(environment={"RELEASE": "old"})
    ready = tmp_path / "ready"
    new = hosting.define(environment={"RELEASE": "new", "READY_AFTER_FILE": str(ready)})

    hosting.sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=new)
    old_container = hosting.ask(endpoint)
    while_updating = hosting.describe(endpoint)
    ready.touch()
    updated = hosting.settled(endpoint)

    assert while_updating["EndpointStatus"] == "Updating"
    assert old_container["environment"]["RELEASE"] == "old"
    assert (updated["EndpointStatus"], updated["EndpointConfigName"]) == ("InService", new)
    assert hosting.ask(endpoint)["environment"]["RELEASE"] == "new"
    assert not is_alive(old_container["pid"])


def test_a_request_in_flight_outlives_the_update_that_retires_its_instance(hosting: Hosting, tmp_path: Path) -> None:
    endpoint = hosting.deploy()
    new = hosting.define(environment={"RELEASE": "new"})

    with ThreadPoolExecutor(1) as other:
        slow = other.submit(ask_slowly, hosting, endpoint, tmp_path)
        eventually((tmp_path / "arrived").exists, "the request is under way")
        hosting.sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=new)
        eventually(lambda: "RELEASE" in hosting.ask(endpoint)["environment"], "the new instance serves")
        (tmp_path / "finish").touch()
        hosting.settled(endpoint)

    assert slow.result() == 42


def test_a_failed_update_keeps_what_served_before_and_says_why(hosting: Hosting) -> None:
    endpoint = hosting.deploy()
    before = hosting.ask(endpoint)["pid"]
    bad = hosting.define(environment={"REFUSE": "wrong digest"})

    hosting.sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=bad)

    description = hosting.settled(endpoint)
    assert (description["EndpointStatus"], description["EndpointConfigName"]) == ("InService", endpoint)
    assert description["FailureReason"].startswith("wrong digest")
    assert hosting.ask(endpoint)["pid"] == before


def test_an_endpoint_in_progress_takes_no_other_operation(hosting: Hosting, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    endpoint = hosting.define(environment={"READY_AFTER_FILE": str(ready)})
    hosting.sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)

    with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
        hosting.sagemaker.delete_endpoint(EndpointName=endpoint)
    with pytest.raises(ClientError, match="Cannot update in-progress endpoint"):
        hosting.sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)

    ready.touch()
    assert hosting.settled(endpoint)["EndpointStatus"] == "InService"


def test_desired_instances_are_started_and_share_the_requests(hosting: Hosting) -> None:
    endpoint = hosting.deploy()

    hosting.sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=endpoint, DesiredWeightsAndCapacities=[{"VariantName": "main", "DesiredInstanceCount": 3}]
    )
    description = hosting.settled(endpoint)
    everybody_is_asking = threading.Barrier(3)

    def ask(_: int) -> None:
        everybody_is_asking.wait()
        hosting.ask(endpoint, seconds=0.5)

    with ThreadPoolExecutor(3) as callers:
        list(callers.map(ask, range(3)))
        pids = {answer["pid"] for answer in callers.map(lambda _: hosting.ask(endpoint, seconds=0.2), range(3))}

    assert description["ProductionVariants"][0]["CurrentInstanceCount"] == 3
    assert len(pids) == 3


def test_an_update_that_retains_variant_properties_keeps_the_scaled_count(hosting: Hosting) -> None:
    endpoint = hosting.deploy(count=2)
    new = hosting.define(count=1)

    hosting.sagemaker.update_endpoint(EndpointName=endpoint, EndpointConfigName=new, RetainAllVariantProperties=True)

    assert hosting.settled(endpoint)["ProductionVariants"][0]["DesiredInstanceCount"] == 2


def test_a_deleted_endpoint_finishes_its_request_and_leaves_no_process_or_file(
    hosting: Hosting, tmp_path: Path
) -> None:
    hosting.put_model("deleted/", **{"model.gguf": b"x"})
    endpoint = hosting.deploy(ModelDataSource=from_prefix("deleted/"))
    container = hosting.ask(endpoint)

    with ThreadPoolExecutor(1) as other:
        slow = other.submit(ask_slowly, hosting, endpoint, tmp_path)
        eventually((tmp_path / "arrived").exists, "the request is under way")
        hosting.sagemaker.delete_endpoint(EndpointName=endpoint)
        hosting.reaches(endpoint, "Deleting")
        (tmp_path / "finish").touch()
        eventually(lambda: endpoint not in names(hosting), "the endpoint is gone")

    assert not is_alive(container["pid"])
    assert not Path(container["environment"]["DECISION_MODEL_DIR"]).exists()
    assert slow.result() == 42


def ask_slowly(hosting: Hosting, endpoint: str, folder: Path) -> Any:
    return hosting.ask(endpoint, arrived=str(folder / "arrived"), until=str(folder / "finish"), body="42")


def names(hosting: Hosting) -> list[str]:
    pages = hosting.sagemaker.get_paginator("list_endpoints").paginate()
    return [endpoint["EndpointName"] for page in pages for endpoint in page["Endpoints"]]


Member = tuple[tarfile.TarInfo, bytes]


def regular(name: str, content: bytes) -> Member:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    return member, content


def archive(*members: Member) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for member, content in members:
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()
