"""A deploy whose build failed says why, in the build's own last words; nothing that went wrong reads as success."""

from __future__ import annotations

import json
from types import ModuleType

import pytest

from tests.support.fake_builds import (
    IMAGE,
    LINK,
    MANIFEST,
    PACKAGE,
    RESULT_KEY,
    AccountLimitExceededError,
    FakeClients,
    RepositoryNotFoundError,
    ResourceNotFoundError,
    event,
    waiting,
)
from tests.support.fake_s3 import client_error


def why(build_run: ModuleType, clients: FakeClients, result: dict[str, str] = PACKAGE) -> str:
    build_run.begin(event(result=result), clients)
    with pytest.raises(Exception, match=r"\w+") as failed:
        build_run.look(waiting(result=result), clients)
    text = str(failed.value)
    # Of the 4,096 bytes of an answer, its ids and what the Provider framework adds to the reason take up to 2,000.
    assert len(json.dumps(text, ensure_ascii=False).encode()) < 2000
    return text


@pytest.mark.parametrize("status", ["FAILED", "FAULT", "STOPPED", "TIMED_OUT", "SOMETHING_NEW"])
def test_a_build_that_ended_otherwise_fails_with_phase_message_last_lines_and_link(
    build_run: ModuleType, clients: FakeClients, status: str
) -> None:
    clients.codebuild.status = status

    text = why(build_run, clients)

    assert text.startswith(f"build packaging:1 {status} in phase BUILD: Error while executing command")
    assert "packaging refused: m.gguf has SHA-256 00, the pin says ab" in text
    assert "[Container]" not in text
    assert "deploy again" in text
    assert text.endswith(LINK)


@pytest.mark.parametrize("text", ["x", "模", "😀", '"', "\x1b[31m", "\ud83d"], ids=ascii)
def test_long_messages_and_lines_keep_the_end_of_the_log_and_the_link(
    build_run: ModuleType, clients: FakeClients, text: str
) -> None:
    clients.codebuild.status = "FAILED"
    clients.codebuild.message = text * 5000
    clients.logs.lines = [text * 5000, "the last line"]

    said = why(build_run, clients)

    assert "the last line" in said
    assert said.endswith(LINK)


def test_a_log_that_cannot_be_read_does_not_hide_the_failure(build_run: ModuleType, clients: FakeClients) -> None:
    clients.codebuild.status = "FAILED"
    clients.logs.refusal = client_error("GetLogEvents", 400, "AccessDeniedException")

    assert "not readable: AccessDeniedException" in why(build_run, clients)


def test_a_build_that_is_gone_fails(build_run: ModuleType, clients: FakeClients) -> None:
    with pytest.raises(Exception, match=r"build packaging:9 is gone.*Deploy again"):
        build_run.look(waiting("packaging:9"), clients)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (PACKAGE, f"build packaging:1 succeeded but wrote no s3://bucket/{RESULT_KEY}: does its buildspec"),
        (IMAGE, "build packaging:1 succeeded but pushed no adapter:cpu-0123456789abcdef: does its buildspec push"),
    ],
    ids=["package", "image"],
)
def test_a_build_that_succeeded_without_a_result_fails(
    build_run: ModuleType, clients: FakeClients, result: dict[str, str], said: str
) -> None:
    clients.codebuild.status = "SUCCEEDED"

    assert why(build_run, clients, result).startswith(said)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            ResourceNotFoundError({"Error": {"Code": "ResourceNotFoundException"}}, "StartBuild"),
            "project 'packaging' does not exist: deploy the stack",
        ),
        (
            AccountLimitExceededError({"Error": {"Code": "AccountLimitExceededException"}}, "StartBuild"),
            "raise the quota",
        ),
        (client_error("StartBuild", 400, "InvalidInputException"), "InvalidInputException"),
    ],
    ids=["gone", "limit", "other"],
)
def test_a_build_that_cannot_be_started_fails_with_what_to_do(
    build_run: ModuleType, clients: FakeClients, refusal: Exception, said: str
) -> None:
    clients.codebuild.refusal = refusal

    with pytest.raises(Exception, match=said):
        build_run.begin(event(), clients)


@pytest.mark.parametrize("content", [b"{", b" " * ((1 << 20) + 1)], ids=["broken", "long"])
def test_something_else_under_the_key_of_the_manifest_fails_by_name(
    build_run: ModuleType, clients: FakeClients, content: bytes
) -> None:
    clients.s3.put(RESULT_KEY, content)

    with pytest.raises(ValueError, match=f"s3://bucket/{RESULT_KEY}"):
        build_run.begin(event(), clients)


def test_the_manifest_of_another_package_is_not_taken(build_run: ModuleType, clients: FakeClients) -> None:
    key = f"models/tiny/{'cd' * 32}/model-manifest.json"
    clients.s3.put(key, MANIFEST.to_bytes())

    with pytest.raises(ValueError, match="another package"):
        build_run.begin(event(result={"ResultBucket": "bucket", "ResultKey": key}), clients)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (
            RepositoryNotFoundError({"Error": {"Code": "RepositoryNotFoundException"}}, "DescribeImages"),
            "repository 'adapter' does not exist: deploy the stack",
        ),
        (client_error("DescribeImages", 400, "AccessDeniedException"), "this role needs ecr:DescribeImages"),
    ],
    ids=["gone", "denied"],
)
def test_a_repository_that_cannot_be_read_fails_and_starts_no_build(
    build_run: ModuleType, clients: FakeClients, refusal: Exception, said: str
) -> None:
    clients.ecr.refusal = refusal

    with pytest.raises(Exception, match=said):
        build_run.begin(event(result=IMAGE), clients)

    assert clients.codebuild.started == []


def test_an_image_without_a_sha256_digest_is_not_taken(build_run: ModuleType, clients: FakeClients) -> None:
    clients.ecr.images[IMAGE["ResultTag"]] = "latest"

    with pytest.raises(Exception, match="ECR names latest as the image adapter:cpu-"):
        build_run.begin(event(result=IMAGE), clients)


@pytest.mark.parametrize(
    ("result", "name", "value"),
    [
        (PACKAGE, "Project", ""),
        (PACKAGE, "ResultBucket", None),
        (PACKAGE, "ResultKey", 5),
        (IMAGE, "ResultRepository", ""),
        (IMAGE, "ResultTag", None),
        (PACKAGE, "Inputs", ""),
        (PACKAGE, "Environment", "[]"),
        (PACKAGE, "Environment", "{"),
    ],
)
def test_a_malformed_property_fails_by_name(
    build_run: ModuleType, clients: FakeClients, result: dict[str, str], name: str, value: object
) -> None:
    sent = event(result=result)
    sent["ResourceProperties"][name] = value

    with pytest.raises(ValueError, match=f"property {name}"):
        build_run.begin(sent, clients)
