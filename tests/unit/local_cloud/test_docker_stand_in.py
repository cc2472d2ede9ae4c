"""The stand-in for docker refuses what Docker would, as far as that can be told without running anything."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from local_cloud.docker_stand_in.__main__ import main

REGISTRY = "123456789012.dkr.ecr.us-east-1.amazonaws.com"
BASE = f"{REGISTRY}/base@sha256:{'ab' * 32}"
REFERENCE = f"{REGISTRY}/adapter:1"
DOCKERFILE = """\
# Two stages.
ARG BASE
FROM ${BASE} AS build
RUN make \\
    all
COPY code /code
FROM $BASE
COPY --from=build /code /code
ENTRYPOINT ["/code/run"]
"""


class Docker:
    """Calls the stand-in, and keeps the last line that it said."""

    def __init__(self, context: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.context = context
        self._monkeypatch = monkeypatch
        self._capsys = capsys
        self.said = ""

    def __call__(self, *arguments: str, stdin: str = "") -> int:
        self._monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        status = main(arguments)
        self.said = self._capsys.readouterr().out.strip()
        return status

    def log_in(self) -> int:
        return self("login", "--username", "AWS", "--password-stdin", REGISTRY, stdin="secret")

    def build(self, dockerfile: str = DOCKERFILE, *, base: str = f"BASE={BASE}", tag: str = REFERENCE) -> int:
        (self.context / "Dockerfile").write_text(dockerfile)
        given = ["--build-arg", base] if base else []
        return self("build", "--platform", "linux/amd64", *given, "--tag", tag, str(self.context))


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Docker:
    monkeypatch.setenv("HOME", str(tmp_path))
    context = tmp_path / "context"
    (context / "code").mkdir(parents=True)
    (context / "code" / "run").write_text("run\n")
    return Docker(context, monkeypatch, capsys)


def content_of(docker: Docker, *, tag: str = REFERENCE) -> str:
    assert docker.build(tag=tag) == 0
    return docker.said.rpartition(" ")[2]


def test_a_build_says_that_it_ran_nothing_and_names_its_content(docker: Docker) -> None:
    docker.log_in()

    assert docker.build() == 0
    assert docker.said.startswith("stand-in for docker: the Dockerfile and what it copies are there; no step of it is")


def test_the_content_is_the_same_for_the_same_files_and_another_for_others(docker: Docker) -> None:
    docker.log_in()

    first, second = content_of(docker), content_of(docker)
    (docker.context / "code" / "run").write_text("run faster\n")

    assert first == second != content_of(docker)


def test_a_rebuild_under_another_tag_has_another_content(docker: Docker) -> None:
    docker.log_in()

    assert content_of(docker) != content_of(docker, tag=f"{REGISTRY}/adapter:2")


def test_a_login_without_a_password_on_standard_input_is_refused(docker: Docker) -> None:
    assert docker("login", "--username", "AWS", "--password-stdin", REGISTRY) == 1
    assert docker.said.endswith(f"no password for {REGISTRY} came by standard input")


def test_a_password_as_an_argument_is_refused(docker: Docker) -> None:
    assert docker("login", "--username", "AWS", "--password", "secret", REGISTRY) == 1


@pytest.mark.parametrize(
    ("dockerfile", "reason"),
    [
        (DOCKERFILE.replace("COPY code", "COPY absent"), "the build context has no absent"),
        (DOCKERFILE.replace("--from=build", "--from=biuld"), "no stage before it is named biuld"),
        (DOCKERFILE.replace("FROM $BASE", "FROM $OTHER"), "uses OTHER, which no ARG before it declares"),
        (DOCKERFILE.replace("RUN make", "HEALTHCHECK make"), "HEALTHCHECK is not known here"),
        ("# nothing\n", "no build stage in the Dockerfile"),
    ],
)
def test_a_dockerfile_that_docker_could_not_follow_is_refused(docker: Docker, dockerfile: str, reason: str) -> None:
    docker.log_in()

    assert docker.build(dockerfile) == 1
    assert reason in docker.said


def test_an_argument_without_a_value_is_refused(docker: Docker) -> None:
    assert docker.build(base="") == 1
    assert "argument BASE has no value: give --build-arg BASE=..." in docker.said


def test_a_base_whose_registry_nobody_logged_in_to_is_refused(docker: Docker) -> None:
    assert docker.build() == 1
    assert f"no basic auth credentials for {REGISTRY}" in docker.said


def test_an_image_that_was_not_built_is_not_pushed(docker: Docker) -> None:
    docker.log_in()

    assert docker("push", REFERENCE) == 1
    assert f"with the tag {REFERENCE}: build it first" in docker.said


def test_a_registry_that_is_not_private_ecr_is_refused(docker: Docker) -> None:
    assert docker.build(base="BASE=docker.io/library/python:3") == 1
    assert "docker.io/library/python:3 is not in private ECR" in docker.said


@pytest.mark.parametrize("arguments", [("run", "x"), ("build", "--squash", "--tag", "x", "."), ()])
def test_everything_else_is_refused_with_what_is_known(docker: Docker, arguments: tuple[str, ...]) -> None:
    assert docker(*arguments) == 1
    assert "known here: login, build and push" in docker.said
