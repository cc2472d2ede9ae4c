"""A log group is there after every create, and gone after a delete only if no line is lost that somebody keeps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.support.fake_logs import FakeLogs, Group, refusal
from tests.support.lambda_code import lambda_module

NAME = "/aws/sagemaker/Endpoints/decisions-test"
STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/Artifacts/6a1d"
LATER_STACK = "arn:aws:cloudformation:eu-west-1:123456789012:stack/Artifacts/9f3c"
KEY = "arn:aws:kms:eu-west-1:123456789012:key/1"


@pytest.fixture
def log_group() -> Iterator[ModuleType]:
    with lambda_module("endpoint_log_group", "handler") as module:
        yield module


@pytest.fixture
def logs(log_group: ModuleType, monkeypatch: pytest.MonkeyPatch) -> FakeLogs:
    """No groups yet; and no waiting, however often a call is tried again."""
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return FakeLogs()


def event(request_type: str, *, stack: str = STACK, request: str = "1", **properties: str) -> dict[str, Any]:
    asked = {"LogGroupName": NAME, "RetentionDays": "90", "KeyArn": "", "Retain": "true"} | properties
    made = {} if request_type == "Create" else {"PhysicalResourceId": asked["LogGroupName"]}
    return {
        "RequestType": request_type,
        "StackId": stack,
        "RequestId": request,
        "LogicalResourceId": "Logs",
        "ResourceProperties": asked,
        **made,
    }


def answer(module: ModuleType, logs: FakeLogs, sent: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(module.answer_to(sent, logs.client))
    return document


def done(module: ModuleType, logs: FakeLogs, sent: dict[str, Any]) -> dict[str, Any]:
    document = answer(module, logs, sent)
    assert document["Status"] == "SUCCESS", document
    return document


def test_a_group_is_made_with_its_retention_and_key(log_group: ModuleType, logs: FakeLogs) -> None:
    document = done(log_group, logs, event("Create", KeyArn=KEY))

    assert (logs.groups[NAME].days, logs.groups[NAME].key) == (90, KEY)
    assert document["PhysicalResourceId"] == NAME


@pytest.mark.parametrize("key", [KEY, ""])
def test_a_group_that_is_there_gets_the_retention_and_key_asked_for(
    log_group: ModuleType, logs: FakeLogs, key: str
) -> None:
    logs.groups[NAME] = Group(days=7, key="a key that an earlier stack has deleted")

    done(log_group, logs, event("Create", KeyArn=key))

    assert (logs.groups[NAME].days, logs.groups[NAME].key) == (90, key or None)


def test_the_key_of_a_group_with_a_longer_name_is_not_taken_for_this_ones(
    log_group: ModuleType, logs: FakeLogs
) -> None:
    logs.groups = {NAME: Group(), f"{NAME}-2": Group(key=KEY)}

    done(log_group, logs, event("Create"))

    assert logs.groups[f"{NAME}-2"].key == KEY


def test_another_retention_changes_the_group_and_not_its_id(log_group: ModuleType, logs: FakeLogs) -> None:
    done(log_group, logs, event("Create"))

    document = done(log_group, logs, event("Update", request="2", RetentionDays=""))

    assert logs.groups[NAME].days is None
    assert document["PhysicalResourceId"] == NAME


def test_a_group_that_somebody_deleted_is_made_again_by_the_next_update(log_group: ModuleType, logs: FakeLogs) -> None:
    done(log_group, logs, event("Update", request="2"))

    assert logs.groups[NAME].days == 90


def test_a_renamed_endpoint_is_another_group(log_group: ModuleType, logs: FakeLogs) -> None:
    done(log_group, logs, event("Create"))

    document = done(
        log_group, logs, event("Update", request="2", LogGroupName=f"{NAME}-2") | {"PhysicalResourceId": NAME}
    )

    assert document["PhysicalResourceId"] == f"{NAME}-2"
    assert set(logs.groups) == {NAME, f"{NAME}-2"}


def test_a_failed_create_deletes_the_group_that_it_made(log_group: ModuleType, logs: FakeLogs) -> None:
    done(log_group, logs, event("Create"))

    done(log_group, logs, event("Delete", request="2"))

    assert not logs.groups


def test_a_failed_create_whose_first_run_had_made_the_group_deletes_it_too(
    log_group: ModuleType, logs: FakeLogs
) -> None:
    # Lambda runs an event again when its answer did not come through.
    done(log_group, logs, event("Create"))
    done(log_group, logs, event("Create"))

    done(log_group, logs, event("Delete", request="2"))

    assert not logs.groups


def test_a_failed_create_leaves_the_group_that_it_took_over(log_group: ModuleType, logs: FakeLogs) -> None:
    logs.groups[NAME] = Group()
    done(log_group, logs, event("Create"))

    done(log_group, logs, event("Delete", request="2"))

    assert NAME in logs.groups


def test_a_failed_create_leaves_the_group_of_an_earlier_stack_of_its_name(
    log_group: ModuleType, logs: FakeLogs
) -> None:
    done(log_group, logs, event("Create"))
    done(log_group, logs, event("Create", stack=LATER_STACK, request="2"))

    done(log_group, logs, event("Delete", stack=LATER_STACK, request="3"))

    assert NAME in logs.groups


def test_a_failed_renaming_back_leaves_the_group_that_this_stack_once_made(
    log_group: ModuleType, logs: FakeLogs
) -> None:
    done(log_group, logs, event("Create"))
    done(log_group, logs, event("Update", request="2"))

    done(log_group, logs, event("Delete", request="3"))

    assert NAME in logs.groups


@pytest.mark.parametrize("there", [True, False])
def test_a_group_that_is_not_retained_goes_with_its_stack_and_may_be_gone_already(
    log_group: ModuleType, logs: FakeLogs, there: bool
) -> None:
    if there:
        logs.groups[NAME] = Group()

    done(log_group, logs, event("Delete", Retain="false"))

    assert not logs.groups


def test_deleting_what_never_existed_succeeds(log_group: ModuleType, logs: FakeLogs) -> None:
    never_created = answer(log_group, logs, event("Create", Retain="perhaps"))["PhysicalResourceId"]

    sent = event("Delete") | {"PhysicalResourceId": never_created}

    assert done(log_group, logs, sent)["PhysicalResourceId"] == never_created


@pytest.mark.parametrize("code", ["OperationAbortedException", "AccessDeniedException"])
def test_what_passes_within_seconds_is_waited_for(log_group: ModuleType, logs: FakeLogs, code: str) -> None:
    logs.refusals = [refusal(code)] * 3

    done(log_group, logs, event("Create"))

    assert NAME in logs.groups


def test_what_does_not_pass_is_a_failure_with_its_reason(log_group: ModuleType, logs: FakeLogs) -> None:
    logs.refusals = [refusal("AccessDeniedException")] * 5

    document = answer(log_group, logs, event("Create"))

    assert document["Status"] == "FAILED"
    assert "AccessDeniedException of a test" in document["Reason"]
    assert document["PhysicalResourceId"] == NAME


@pytest.mark.parametrize(
    ("properties", "found"),
    [
        ({"LogGroupName": "/aws/lambda/x"}, "property LogGroupName is '/aws/lambda/x'"),
        ({"RetentionDays": "soon"}, "property RetentionDays is 'soon'"),
        ({"Retain": "True"}, "property Retain is 'True'"),
    ],
)
def test_a_property_that_is_wrong_is_named(
    log_group: ModuleType, logs: FakeLogs, properties: dict[str, str], found: str
) -> None:
    document = answer(log_group, logs, event("Create", **properties))

    assert document["Status"] == "FAILED"
    assert found in document["Reason"]
