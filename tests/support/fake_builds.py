"""The services that a build run talks to, and what CloudFormation sends it."""

from __future__ import annotations

import json
from typing import Any

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
PACKAGE = {"ResultBucket": "bucket", "ResultKey": RESULT_KEY}
IMAGE = {"ResultRepository": "adapter", "ResultTag": "cpu-0123456789abcdef"}
IMAGE_DIGEST = f"sha256:{'cd' * 32}"
LINK = "https://console.aws.amazon.com/cloudwatch/home?region=eu-west-1#logEvent:group=packaging;stream=1"


class ResourceNotFoundError(ClientError):
    """As boto3 makes one per client."""


class AccountLimitExceededError(ClientError):
    """As boto3 makes one per client."""


class ImageNotFoundError(ClientError):
    """As boto3 makes one per client."""


class RepositoryNotFoundError(ClientError):
    """As boto3 makes one per client."""


class _Exceptions:
    ClientError = ClientError
    ResourceNotFoundException = ResourceNotFoundError
    AccountLimitExceededException = AccountLimitExceededError
    ImageNotFoundException = ImageNotFoundError
    RepositoryNotFoundException = RepositoryNotFoundError


class FakeCodeBuild:
    """A service with one project; `status` is that of every build."""

    exceptions = _Exceptions

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

    exceptions = _Exceptions

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


class FakeEcr:
    """The repository `adapter`; `images` maps its tags to digests."""

    exceptions = _Exceptions

    def __init__(self) -> None:
        self.images: dict[str, str] = {}
        self.refusal: Exception | None = None

    def describe_images(self, *, repositoryName: str, imageIds: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        if self.refusal is not None:
            raise self.refusal
        assert repositoryName == IMAGE["ResultRepository"]
        found = [self.images[wanted["imageTag"]] for wanted in imageIds if wanted["imageTag"] in self.images]
        if not found:
            answer = client_error("DescribeImages", 400, "ImageNotFoundException")
            raise ImageNotFoundError(answer.response, "DescribeImages")
        return {"imageDetails": [{"imageDigest": digest} for digest in found]}


class FakeClients:
    """As `Clients` of the handler."""

    def __init__(self) -> None:
        self.s3 = FakeS3()
        self.codebuild = FakeCodeBuild()
        self.logs = FakeLogs()
        self.ecr = FakeEcr()


def event(request_type: str = "Create", *, result: dict[str, str] = PACKAGE, **changes: Any) -> dict[str, Any]:
    """What CloudFormation sends about a build that leaves this result."""
    return {
        "RequestType": request_type,
        "RequestId": "request-1",
        "ResourceProperties": {
            "Project": "packaging",
            "Inputs": "0123456789abcdef" * 4,
            "Environment": json.dumps({"MODEL_NAME": "tiny"}),
            **result,
        },
        **changes,
    }


def waiting(build_id: str = "packaging:1", **changes: Any) -> dict[str, Any]:
    """What the Provider framework sends while a build runs."""
    return event(PhysicalResourceId="build-run/0123456789abcdef", Data={"BuildId": build_id}, **changes)
