"""The program of the image build: what it asks of Docker and ECR, and what it answers."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

import build_image
from build_image import BuildRefused

DIGEST = f"sha256:{'cd' * 32}"
PASSWORD = "secret of the registry"
OWN_REGISTRY = "123456789012.dkr.ecr.eu-west-1.amazonaws.com"
BASE_REGISTRY = "763104351884.dkr.ecr.eu-west-1.amazonaws.com"
ENVIRONMENT = {
    "BASE_IMAGE": f"{BASE_REGISTRY}/llama-cpp@sha256:{'1f19c220' * 8}",
    "REPOSITORY": f"{OWN_REGISTRY}/routing-image-abc",
    "TAG": "cpu-0123456789abcdef",
    "SOURCE_SHA256": "13c16f42" * 8,
    "PLATFORM": "linux/amd64",
}
REFERENCE = f"{ENVIRONMENT['REPOSITORY']}:{ENVIRONMENT['TAG']}"


class ImageNotFoundError(ClientError):
    """As boto3 makes one per client."""


class _Exceptions:
    ImageNotFoundException = ImageNotFoundError


@dataclass
class Registry:
    """ECR and Docker together: what one pushes, the other describes. A push fails when `push_fails`."""

    pushed: bool = False
    push_fails: bool = False
    pushed_by_another: bool = False
    loses_images: bool = False
    exceptions = _Exceptions
    calls: list[list[str]] = field(default_factory=list)
    passwords: list[bytes | None] = field(default_factory=list)
    regions: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def client(self, region: str) -> Registry:
        self.regions.append(region)
        return self

    def describe_images(self, *, repositoryName: str, imageIds: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        assert (repositoryName, imageIds) == ("routing-image-abc", [{"imageTag": ENVIRONMENT["TAG"]}])
        if not self.pushed:
            raise ImageNotFoundError({"Error": {"Code": "ImageNotFoundException"}}, "DescribeImages")
        return {"imageDetails": [{"imageDigest": DIGEST}]}

    def get_authorization_token(self) -> dict[str, Any]:
        token = base64.b64encode(f"AWS:{PASSWORD}".encode()).decode()
        return {"authorizationData": [{"authorizationToken": token}]}

    def docker(self, arguments: list[str], password: bytes | None) -> None:
        self.calls.append(arguments)
        self.passwords.append(password)
        if arguments[0] == "push":
            self.pushed = self.pushed_by_another or not (self.push_fails or self.loses_images)
            if self.push_fails:
                raise BuildRefused("docker push failed with status 1")

    def build(self, *, source: str = ENVIRONMENT["SOURCE_SHA256"], **changes: str) -> str:
        wanted = build_image.read_wanted(ENVIRONMENT | changes)
        return build_image.build(wanted, source, self.client, self.docker, self.lines.append)

    @property
    def commands(self) -> list[str]:
        return [arguments[0] for arguments in self.calls]


def test_an_image_that_is_there_is_neither_built_nor_pushed() -> None:
    registry = Registry(pushed=True)

    assert registry.build() == DIGEST
    assert registry.calls == []


def test_an_image_is_built_on_the_base_for_the_platform_and_pushed_under_its_tag() -> None:
    registry = Registry()

    assert registry.build() == DIGEST
    assert registry.calls[2:] == [
        [
            *("build", "--platform", "linux/amd64"),
            *("--build-arg", f"BASE_IMAGE={ENVIRONMENT['BASE_IMAGE']}"),
            *("--tag", REFERENCE, "."),
        ],
        ["push", REFERENCE],
    ]


def test_both_registries_are_logged_in_to_before_the_build() -> None:
    registry = Registry()

    registry.build()

    assert [arguments[-1] for arguments in registry.calls[:2]] == [BASE_REGISTRY, OWN_REGISTRY]
    assert registry.commands == ["login", "login", "build", "push"]


def test_a_base_of_another_region_is_logged_in_to_with_a_token_of_that_region() -> None:
    registry = Registry()

    registry.build(BASE_IMAGE=ENVIRONMENT["BASE_IMAGE"].replace("eu-west-1", "us-east-1"))

    assert registry.regions == ["eu-west-1", "us-east-1", "eu-west-1"]


def test_one_registry_for_both_is_logged_in_to_once() -> None:
    registry = Registry()

    registry.build(BASE_IMAGE=ENVIRONMENT["BASE_IMAGE"].replace(BASE_REGISTRY, OWN_REGISTRY))

    assert registry.commands == ["login", "build", "push"]


def test_a_password_comes_by_standard_input_and_never_as_an_argument() -> None:
    registry = Registry()

    registry.build()

    assert registry.passwords == [PASSWORD.encode(), PASSWORD.encode(), None, None]
    assert PASSWORD not in str(registry.calls) + str(registry.lines)


def test_a_push_that_loses_the_race_answers_with_the_image_of_the_winner() -> None:
    registry = Registry(push_fails=True, pushed_by_another=True)

    assert registry.build() == DIGEST
    assert registry.lines[-1].endswith("was pushed by another build meanwhile")


def test_a_push_that_fails_without_another_builds_image_fails_the_build() -> None:
    with pytest.raises(BuildRefused, match="docker push failed with status 1"):
        Registry(push_fails=True).build()


def test_an_image_that_ecr_does_not_know_after_its_push_fails_the_build() -> None:
    with pytest.raises(BuildRefused, match="was pushed and ECR does not know it: deploy again"):
        Registry(loses_images=True).build()


def test_a_source_that_the_tag_is_not_made_of_is_refused_before_docker_is_asked() -> None:
    registry = Registry()

    with pytest.raises(BuildRefused, match="first deploy the stack that holds the AdapterImage"):
        registry.build(source="ab" * 32)

    assert registry.calls == []


def test_an_image_that_is_there_is_the_answer_whatever_source_the_project_has() -> None:
    assert Registry(pushed=True).build(source="ab" * 32) == DIGEST


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("BASE_IMAGE", f"{BASE_REGISTRY}/llama-cpp:latest", "a private ECR repository and a digest"),
        ("BASE_IMAGE", f"docker.io/llama-cpp@sha256:{'ab' * 32}", "a private ECR repository and a digest"),
        ("REPOSITORY", f"{OWN_REGISTRY}/routing:v1", "without tag"),
        ("TAG", "-x", "1 to 128 letters"),
        ("SOURCE_SHA256", "13C16F42" * 8, "64 lower-case hex digits"),
        ("PLATFORM", "linux/386", "linux/amd64 or linux/arm64"),
        ("PLATFORM", "", "linux/amd64 or linux/arm64"),
    ],
)
def test_a_variable_that_is_wrong_is_named_with_what_is_allowed(name: str, value: str, wanted: str) -> None:
    with pytest.raises(BuildRefused, match=wanted) as refused:
        build_image.read_wanted(ENVIRONMENT | {name: value})

    assert str(refused.value).startswith(f"{name} is {value!r}")


def test_all_variables_that_are_missing_are_named_at_once() -> None:
    with pytest.raises(BuildRefused) as refused:
        build_image.read_wanted({})

    assert [part.split()[0] for part in str(refused.value).split("; ")] == list(ENVIRONMENT)


def fake_docker(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_docker_is_run_without_attestations_and_gets_the_password(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    fake_docker(tmp_path, 'echo "$* $(cat) $BUILDX_NO_DEFAULT_ATTESTATIONS"', monkeypatch)

    build_image.run_docker(["login", "registry"], b"password")

    assert capfd.readouterr().out == "login registry password 1\n"


def test_a_docker_that_fails_is_named_with_its_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(tmp_path, "exit 7", monkeypatch)

    with pytest.raises(BuildRefused, match="docker build failed with status 7: its own lines above say why"):
        build_image.run_docker(["build", "--password", "x"], None)


def test_a_machine_without_docker_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(BuildRefused, match="there is no docker: the build environment must be privileged"):
        build_image.run_docker(["build"], None)


@pytest.mark.parametrize(
    ("registry", "status", "last"),
    [(Registry(), 0, f"image {DIGEST}"), (Registry(push_fails=True), 1, "image refused: docker push failed")],
    ids=["made", "refused"],
)
def test_the_last_line_says_what_came_of_it(
    registry: Registry, status: int, last: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(build_image, "_client", registry.client)
    monkeypatch.setattr(build_image, "run_docker", registry.docker)
    monkeypatch.setattr(build_image, "source_sha256", lambda _: ENVIRONMENT["SOURCE_SHA256"])

    assert build_image.main() == status
    assert capsys.readouterr().out.splitlines()[-1].startswith(last)


def test_what_aws_refuses_is_said_and_no_trace_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(region: str) -> Any:
        raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "not you"}}, "DescribeImages")

    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(build_image, "_client", refuse)

    assert build_image.main() == 1
    assert "image refused: An error occurred (AccessDeniedException)" in capsys.readouterr().out
