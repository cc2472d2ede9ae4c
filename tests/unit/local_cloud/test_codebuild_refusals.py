"""What the local cloud does not emulate of CodeBuild is refused by name."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from tests.support.builds import Builds, commands, failure_of


@pytest.mark.parametrize(
    ("buildspec", "reason"),
    [
        ("version: 0.2\nphases: [", "the buildspec is no YAML"),
        ("version: 0.1\nphases: {}\n", "version is 0.1, only 0.2 is emulated"),
        ("version: 0.2\nphases: {biuld: {commands: [ls]}}\n", "phases: biuld is not emulated"),
        ("version: 0.2\nphases: {build: {commands: [ls], run-as: root}}\n", "phases.build: run-as is not emulated"),
        ("version: 0.2\nbatch: {}\nphases: {}\n", "buildspec: batch is not emulated"),
        ("version: 0.2\nphases: {build: {commands: [echo a: b]}}\n", "phases.build.commands[0] is a dict"),
    ],
)
def test_a_buildspec_that_is_wrong_or_not_emulated_fails_the_build_by_name(
    builds: Builds, buildspec: str, reason: str
) -> None:
    build = builds.run(buildspec)

    assert build["buildStatus"] == "FAILED"
    assert failure_of(build).startswith("YAML_FILE_ERROR: ")
    assert reason in failure_of(build)


def test_a_start_that_is_not_emulated_is_refused(builds: Builds) -> None:
    project = builds.project(commands("true"))

    with pytest.raises(ClientError, match="does not emulate privilegedModeOverride"):
        builds.start(project, privilegedModeOverride=True)


def test_a_project_that_is_not_emulated_is_refused(builds: Builds) -> None:
    with pytest.raises(ClientError, match=r"does not emulate source.type GITHUB: use S3 or NO_SOURCE"):
        builds.project("", source={"type": "GITHUB", "location": "https://github.com/x/y"})


def test_an_unknown_project_is_not_found(builds: Builds) -> None:
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        builds.start("nobody")
