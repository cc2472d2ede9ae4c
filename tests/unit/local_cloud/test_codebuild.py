"""A build of the local cloud runs its phases as CodeBuild would."""

from __future__ import annotations

import time

import pytest
from botocore.exceptions import ClientError

from local_cloud.marks import carries
from tests.support.builds import Builds, commands, failure_of, phase_of
from tests.support.waiting import eventually


def test_a_build_starts_in_progress_and_succeeds_with_all_its_phases(builds: Builds) -> None:
    first = builds.start(builds.project(commands("echo hello from $CODEBUILD_BUILD_ID")))

    build = builds.ended(first["id"])

    assert first["buildStatus"] == "IN_PROGRESS"
    assert build["buildStatus"] == "SUCCEEDED"
    assert [phase["phaseType"] for phase in build["phases"]] == [
        "SUBMITTED",
        "QUEUED",
        "PROVISIONING",
        "DOWNLOAD_SOURCE",
        "INSTALL",
        "PRE_BUILD",
        "BUILD",
        "POST_BUILD",
        "UPLOAD_ARTIFACTS",
        "FINALIZING",
        "COMPLETED",
    ]
    assert f"hello from {first['id']}" in builds.log(build)


def test_the_log_is_also_a_file_under_the_home(builds: Builds) -> None:
    build = builds.run(commands("echo written down"))

    log = builds.cloud.home / "builds" / build["id"] / "build.log"
    assert "written down" in log.read_text().splitlines()


def test_the_log_file_grows_while_the_build_runs(builds: Builds) -> None:
    build = builds.start(builds.project(commands("echo early", "sleep 60")))
    log = builds.cloud.home / "builds" / build["id"] / "build.log"

    eventually(lambda: "early" in log.read_text().splitlines(), "the first line of the log")

    assert builds.get(build["id"])["buildStatus"] == "IN_PROGRESS"
    builds.client("codebuild").stop_build(id=build["id"])
    builds.ended(build["id"])


def test_a_failing_command_fails_the_build_with_its_exit_code(builds: Builds) -> None:
    build = builds.run(commands("(exit 4)", "echo never"))

    assert build["buildStatus"] == "FAILED"
    assert failure_of(build) == (
        "COMMAND_EXECUTION_ERROR: Error while executing command: (exit 4). Reason: exit status 4"
    )
    assert "never" not in builds.log(build)


def test_a_command_that_leaves_the_shell_fails_the_build_with_its_exit_code(builds: Builds) -> None:
    assert "exit status 3" in failure_of(builds.run(commands("exit 3")))


def test_finally_runs_after_a_failed_command(builds: Builds) -> None:
    build = builds.run(commands("false", **{"finally": ["echo cleaned up"]}))

    assert build["buildStatus"] == "FAILED"
    assert "cleaned up" in builds.log(build)


def test_post_build_runs_after_a_failed_build_and_knows_it(builds: Builds) -> None:
    build = builds.run(
        {
            "version": "0.2",
            "phases": {
                "build": {"commands": ["false"]},
                "post_build": {"commands": ['echo "succeeding: $CODEBUILD_BUILD_SUCCEEDING"']},
            },
        }
    )

    assert build["buildStatus"] == "FAILED"
    assert "succeeding: 0" in builds.log(build)


def test_on_failure_abort_ends_the_build_before_post_build(builds: Builds) -> None:
    build = builds.run(
        {
            "version": "0.2",
            "phases": {
                "build": {"commands": ["false"], "on-failure": "ABORT"},
                "post_build": {"commands": ["echo reached"]},
            },
        }
    )

    assert build["buildStatus"] == "FAILED"
    assert "reached" not in builds.log(build)


def test_a_background_process_neither_holds_up_nor_outlives_the_build(builds: Builds) -> None:
    started = time.monotonic()

    build = builds.run(commands("sleep 300 & echo left $!"))

    pid = next(line for line in builds.log(build) if line.startswith("left ")).split()[1]
    assert build["buildStatus"] == "SUCCEEDED"
    assert time.monotonic() - started < 30
    assert not carries(int(pid), builds.cloud.mark)


def test_a_stopped_build_ends_as_stopped(builds: Builds) -> None:
    build = builds.start(builds.project(commands("sleep 300")))
    eventually(lambda: builds.get(build["id"])["currentPhase"] == "BUILD", "the phase BUILD")

    builds.client("codebuild").stop_build(id=build["id"])

    ended = builds.ended(build["id"])
    assert ended["buildStatus"] == "STOPPED"
    assert phase_of(ended, "BUILD")["phaseStatus"] == "STOPPED"


def test_the_same_token_means_the_same_build(builds: Builds) -> None:
    project = builds.project(commands("true"))

    first, second = (builds.start(project, idempotencyToken="token") for _ in range(2))

    assert first["id"] == second["id"]
    with pytest.raises(ClientError, match="used with other parameters"):
        builds.start(project, idempotencyToken="token", timeoutInMinutesOverride=7)
    builds.ended(first["id"])


def test_a_project_can_name_its_log_group(builds: Builds) -> None:
    build = builds.run(
        commands("echo here"), logsConfig={"cloudWatchLogs": {"status": "ENABLED", "groupName": "/my/builds"}}
    )

    assert build["logs"]["groupName"] == "/my/builds"
    assert "here" in builds.log(build)
