"""A deploy builds what is not there, once, and fails with the build's own last words."""

from __future__ import annotations

import json
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import Manifest, PackagedFile
from tests.support.fake_s3 import FakeS3, client_error

MANIFEST = Manifest(
    "tiny",
    {"kind": "local", "file": "m.gguf"},
    (PackagedFile("m.gguf", "ab" * 32, 5),),
    GgufFacts(version=3, architecture="llama"),
    {},
)
RESULT_KEY = f"{MANIFEST.prefix}model-manifest.json"
LINK = "https://console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logEvent:group=packaging;stream=1"


class ResourceNotFoundError(Exception):
    """As boto3 makes one per client."""


class AccountLimitExceededError(Exception):
    """As boto3 makes one per client."""


class FakeCodeBuild:
    """A service with one project; `status` is that of every build."""

    exceptions = SimpleNamespace(
        ResourceNotFoundException=ResourceNotFoundError,
        AccountLimitExceededException=AccountLimitExceededError,
        ClientError=ClientError,
    )

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.refusal: Exception | None = None
        self.status = "IN_PROGRESS"
        self.message = "Error while executing command: python3 -m decision_client.packaging. Reason: exit status 1"
        self.builds: dict[str, str] = {}

    def start_build(self, **arguments: Any) -> dict[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        self.started.append(arguments)
        build_id = self.builds.setdefault(arguments["idempotencyToken"], f"packaging:{len(self.builds) + 1}")
        return {"build": {"id": build_id}}

    def batch_get_builds(self, *, ids: list[str]) -> dict[str, Any]:
        builds = [self._build(build_id) for build_id in ids if build_id in self.builds.values()]
        return {
            "builds": builds,
            "buildsNotFound": [build_id for build_id in ids if build_id not in self.builds.values()],
        }

    def _build(self, build_id: str) -> dict[str, Any]:
        return {
            "id": build_id,
            "buildStatus": self.status,
            "currentPhase": "BUILD",
            "phases": [
                {"phaseType": "INSTALL", "phaseStatus": "SUCCEEDED", "contexts": [{"message": ""}]},
                {"phaseType": "BUILD", "phaseStatus": self.status, "contexts": [{"message": self.message}]},
            ],
            "logs": {"groupName": "packaging", "streamName": "1", "deepLink": LINK},
        }


class FakeLogs:
    """One log stream."""

    exceptions = SimpleNamespace(ClientError=ClientError)

    def __init__(self) -> None:
        self.lines = [
            "[Container] Running command python3 -m decision_client.packaging",
            "reading m.gguf: 98 MB in 1.0 s, 98 MB/s",
            "packaging refused: m.gguf has SHA-256 00, the pin says ab",
            "[Container] Command did not exit successfully",
        ]
        self.refusal: Exception | None = None

    def get_log_events(self, **arguments: Any) -> dict[str, Any]:
        if self.refusal is not None:
            raise self.refusal
        return {"events": [{"message": f"{line}\n"} for line in self.lines]}


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def codebuild() -> FakeCodeBuild:
    return FakeCodeBuild()


@pytest.fixture
def logs() -> FakeLogs:
    return FakeLogs()


def event(request_type: str = "Create", **changes: Any) -> dict[str, Any]:
    return {
        "RequestType": request_type,
        "RequestId": "request-1",
        "ResourceProperties": {
            "Project": "packaging",
            "ResultBucket": "bucket",
            "ResultKey": RESULT_KEY,
            "Inputs": "0123456789abcdef" * 4,
            "Salt": "",
            "Environment": json.dumps({"MODEL_NAME": "tiny"}),
        },
        **changes,
    }


def waiting(build_id: str = "packaging:1", **changes: Any) -> dict[str, Any]:
    return event(PhysicalResourceId="build-run/0123456789abcdef", Data={"BuildId": build_id}, **changes)


ATTRIBUTES = {
    "Prefix": MANIFEST.prefix,
    "S3Uri": f"s3://bucket/{MANIFEST.prefix}",
    "Digest": MANIFEST.digest,
}


def test_a_finished_result_is_returned_without_a_build(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs
) -> None:
    s3.put(RESULT_KEY, MANIFEST.to_bytes())

    begun = build_run.begin(event(), s3, codebuild)

    assert begun == {"PhysicalResourceId": "build-run/0123456789abcdef", "Data": {**ATTRIBUTES, "BuildId": ""}}
    assert codebuild.started == []
    assert build_run.look({**event(), **begun}, s3, codebuild, logs) == {"IsComplete": True}


def test_a_missing_result_is_built_with_the_environment_of_the_template(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild
) -> None:
    begun = build_run.begin(event(), s3, codebuild)

    assert begun == {"PhysicalResourceId": "build-run/0123456789abcdef", "Data": {"BuildId": "packaging:1"}}
    (started,) = codebuild.started
    assert started["projectName"] == "packaging"
    assert started["environmentVariablesOverride"] == [{"name": "MODEL_NAME", "value": "tiny", "type": "PLAINTEXT"}]


def test_a_request_that_is_repeated_starts_no_second_build(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild
) -> None:
    first = build_run.begin(event(), s3, codebuild)

    assert build_run.begin(event(), s3, codebuild) == first
    assert build_run.begin(event(RequestId="request-2"), s3, codebuild) != first
    assert all(len(started["idempotencyToken"]) <= 64 for started in codebuild.started)


def test_a_running_build_is_waited_for(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs
) -> None:
    build_run.begin(event(), s3, codebuild)

    assert build_run.look(waiting(), s3, codebuild, logs) == {"IsComplete": False}


def test_a_build_that_succeeded_gives_the_package(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs
) -> None:
    build_run.begin(event(), s3, codebuild)
    s3.put(RESULT_KEY, MANIFEST.to_bytes())
    codebuild.status = "SUCCEEDED"

    assert build_run.look(waiting(), s3, codebuild, logs) == {
        "IsComplete": True,
        "Data": {**ATTRIBUTES, "BuildId": "packaging:1"},
    }


def why(build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs) -> str:
    build_run.begin(event(), s3, codebuild)
    with pytest.raises(Exception, match=r"\w+") as failed:
        build_run.look(waiting(), s3, codebuild, logs)
    text = str(failed.value)
    # Of the 4,096 bytes of an answer, its ids and what the Provider framework adds to the reason take up to 2,000.
    assert len(json.dumps(text, ensure_ascii=False).encode()) < 2000
    return text


@pytest.mark.parametrize("status", ["FAILED", "FAULT", "STOPPED", "TIMED_OUT", "SOMETHING_NEW"])
def test_a_build_that_ended_otherwise_fails_with_phase_message_last_lines_and_link(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs, status: str
) -> None:
    codebuild.status = status

    text = why(build_run, s3, codebuild, logs)

    assert text.startswith(f"build packaging:1 {status} in phase BUILD: Error while executing command")
    assert "packaging refused: m.gguf has SHA-256 00, the pin says ab" in text
    assert "[Container]" not in text
    assert "deploy again" in text
    assert text.endswith(LINK)


@pytest.mark.parametrize("text", ["x", "模", "😀", '"', "\x1b[31m", "\ud83d"], ids=ascii)
def test_long_messages_and_lines_keep_the_end_of_the_log_and_the_link(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs, text: str
) -> None:
    codebuild.status = "FAILED"
    codebuild.message = text * 5000
    logs.lines = [text * 5000, "the last line"]

    text = why(build_run, s3, codebuild, logs)

    assert "the last line" in text
    assert text.endswith(LINK)


def test_a_log_that_cannot_be_read_does_not_hide_the_failure(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs
) -> None:
    codebuild.status = "FAILED"
    logs.refusal = client_error("GetLogEvents", 400, "AccessDeniedException")

    assert "not readable: AccessDeniedException" in why(build_run, s3, codebuild, logs)


def test_a_build_that_is_gone_fails(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs
) -> None:
    with pytest.raises(Exception, match=r"build packaging:9 is gone.*Deploy again"):
        build_run.look(waiting("packaging:9"), s3, codebuild, logs)


def test_a_build_that_succeeded_without_a_result_fails(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs
) -> None:
    codebuild.status = "SUCCEEDED"

    assert f"wrote no s3://bucket/{RESULT_KEY}" in why(build_run, s3, codebuild, logs)


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (ResourceNotFoundError(), "project 'packaging' does not exist: deploy the stack"),
        (AccountLimitExceededError(), "raise the quota"),
        (client_error("StartBuild", 400, "InvalidInputException"), "InvalidInputException"),
    ],
)
def test_a_build_that_cannot_be_started_fails_with_what_to_do(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, refusal: Exception, said: str
) -> None:
    codebuild.refusal = refusal

    with pytest.raises(Exception, match=said):
        build_run.begin(event(), s3, codebuild)


@pytest.mark.parametrize("content", [b"{", b" " * ((1 << 20) + 1)])
def test_something_else_under_the_key_of_the_result_fails_by_name(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, content: bytes
) -> None:
    s3.put(RESULT_KEY, content)

    with pytest.raises(ValueError, match=f"s3://bucket/{RESULT_KEY}"):
        build_run.begin(event(), s3, codebuild)


def test_the_result_of_another_package_is_not_taken(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild
) -> None:
    key = f"models/tiny/{'cd' * 32}/model-manifest.json"
    s3.put(key, MANIFEST.to_bytes())
    sent = event()
    sent["ResourceProperties"]["ResultKey"] = key

    with pytest.raises(ValueError, match="another package"):
        build_run.begin(sent, s3, codebuild)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("Project", ""),
        ("ResultBucket", None),
        ("ResultKey", 5),
        ("Inputs", ""),
        ("Environment", "[]"),
        ("Environment", "{"),
    ],
)
def test_a_malformed_property_fails_by_name(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, name: str, value: object
) -> None:
    sent = event()
    sent["ResourceProperties"][name] = value

    with pytest.raises(ValueError, match=f"property {name}"):
        build_run.begin(sent, s3, codebuild)


def test_deleting_what_never_existed_succeeds(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild, logs: FakeLogs
) -> None:
    gone = event("Delete", PhysicalResourceId="build-run/never", ResourceProperties={})

    assert build_run.begin(gone, s3, codebuild) == {"PhysicalResourceId": "build-run/never"}
    assert build_run.look(gone, s3, codebuild, logs) == {"IsComplete": True}


def test_an_update_with_the_same_inputs_keeps_the_id(
    build_run: ModuleType, s3: FakeS3, codebuild: FakeCodeBuild
) -> None:
    created = build_run.begin(event(), s3, codebuild)["PhysicalResourceId"]
    update = event("Update", RequestId="request-2", PhysicalResourceId=created)
    update["ResourceProperties"]["Salt"] = "2025-12"

    assert build_run.begin(update, s3, codebuild)["PhysicalResourceId"] == created
