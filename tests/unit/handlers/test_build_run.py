"""A deploy builds what is not there, once, and waits for it."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.support.fake_builds import (
    IMAGE,
    IMAGE_DIGEST,
    MANIFEST,
    PACKAGE,
    RESULT_KEY,
    FakeClients,
    event,
    waiting,
)

PACKAGE_ATTRIBUTES = {
    "Prefix": MANIFEST.prefix,
    "S3Uri": f"s3://bucket/{MANIFEST.prefix}",
    "Digest": MANIFEST.digest,
}
RESULTS = pytest.mark.parametrize(
    ("result", "attributes"),
    [(PACKAGE, PACKAGE_ATTRIBUTES), (IMAGE, {"Digest": IMAGE_DIGEST})],
    ids=["package", "image"],
)


def leave_results(clients: FakeClients) -> None:
    clients.s3.put(RESULT_KEY, MANIFEST.to_bytes())
    clients.ecr.images[IMAGE["ResultTag"]] = IMAGE_DIGEST


@RESULTS
def test_a_finished_result_is_returned_without_a_build(
    build_run: ModuleType, clients: FakeClients, result: dict[str, str], attributes: dict[str, str]
) -> None:
    leave_results(clients)

    begun = build_run.begin(event(result=result), clients)

    assert begun == {"PhysicalResourceId": "build-run/0123456789abcdef", "Data": {**attributes, "BuildId": ""}}
    assert clients.codebuild.started == []
    assert build_run.look({**event(result=result), **begun}, clients) == {"IsComplete": True}


@pytest.mark.parametrize("result", [PACKAGE, IMAGE], ids=["package", "image"])
def test_a_missing_result_is_built_with_the_environment_of_the_template(
    build_run: ModuleType, clients: FakeClients, result: dict[str, str]
) -> None:
    begun = build_run.begin(event(result=result), clients)

    assert begun == {"PhysicalResourceId": "build-run/0123456789abcdef", "Data": {"BuildId": "packaging:1"}}
    (started,) = clients.codebuild.started
    assert started["projectName"] == "packaging"
    assert started["environmentVariablesOverride"] == [{"name": "MODEL_NAME", "value": "tiny", "type": "PLAINTEXT"}]


def test_a_request_that_is_repeated_starts_no_second_build(build_run: ModuleType, clients: FakeClients) -> None:
    first = build_run.begin(event(), clients)

    assert build_run.begin(event(), clients) == first
    assert build_run.begin(event(RequestId="request-2"), clients) != first
    assert all(len(started["idempotencyToken"]) <= 64 for started in clients.codebuild.started)


def test_a_running_build_is_waited_for(build_run: ModuleType, clients: FakeClients) -> None:
    build_run.begin(event(), clients)

    assert build_run.look(waiting(), clients) == {"IsComplete": False}


@RESULTS
def test_a_build_that_succeeded_gives_its_result(
    build_run: ModuleType, clients: FakeClients, result: dict[str, str], attributes: dict[str, str]
) -> None:
    build_run.begin(event(result=result), clients)
    leave_results(clients)
    clients.codebuild.status = "SUCCEEDED"

    assert build_run.look(waiting(result=result), clients) == {
        "IsComplete": True,
        "Data": {**attributes, "BuildId": "packaging:1"},
    }


def test_a_package_in_an_archive_is_found_beside_it(build_run: ModuleType, clients: FakeClients) -> None:
    prefix = f"{MANIFEST.prefix.rstrip('/')}-tar/"
    clients.s3.put(f"{prefix}model-manifest.json", MANIFEST.to_bytes())
    sent = event(result={"ResultBucket": "bucket", "ResultKey": f"{prefix}model-manifest.json"})

    assert build_run.begin(sent, clients)["Data"]["Prefix"] == prefix


def test_an_image_is_asked_for_by_its_tag_alone(build_run: ModuleType, clients: FakeClients) -> None:
    clients.ecr.images["cpu-another"] = IMAGE_DIGEST

    build_run.begin(event(result=IMAGE), clients)

    assert len(clients.codebuild.started) == 1


def test_deleting_what_never_existed_succeeds(build_run: ModuleType, clients: FakeClients) -> None:
    gone = event("Delete", PhysicalResourceId="build-run/never", ResourceProperties={})

    assert build_run.begin(gone, clients) == {"PhysicalResourceId": "build-run/never"}
    assert build_run.look(gone, clients) == {"IsComplete": True}


def test_an_update_with_the_same_inputs_keeps_the_id(build_run: ModuleType, clients: FakeClients) -> None:
    created = build_run.begin(event(), clients)["PhysicalResourceId"]
    update = event("Update", RequestId="request-2", PhysicalResourceId=created)
    update["ResourceProperties"]["Environment"] = "{}"

    assert build_run.begin(update, clients)["PhysicalResourceId"] == created
