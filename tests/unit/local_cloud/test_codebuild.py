"""A build of the local cloud runs its buildspec as CodeBuild would."""

from __future__ import annotations

import io
import json
import time
import uuid
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_cloud.marks import carries
from local_cloud.running_cloud import RunningCloud
from tests.support.aws_clients import ClientFactory
from tests.support.waiting import eventually

BUCKET = "builds"


@dataclass(frozen=True)
class Builds:
    """Starts builds of throw-away projects."""

    cloud: RunningCloud
    client: ClientFactory

    def project(self, buildspec: Any, **members: Any) -> str:
        name = f"project-{uuid.uuid4().hex[:8]}"
        text = buildspec if isinstance(buildspec, str) else json.dumps(buildspec)
        self.client("codebuild").create_project(
            **{
                "name": name,
                "source": {"type": "NO_SOURCE", "buildspec": text},
                "artifacts": {"type": "NO_ARTIFACTS"},
                "serviceRole": "arn:aws:iam::123456789012:role/build",
                "environment": {"type": "LINUX_CONTAINER", "image": "aws/x", "computeType": "BUILD_GENERAL1_SMALL"},
                **members,
            }
        )
        return name

    def start(self, project: str, **overrides: Any) -> Any:
        return self.client("codebuild").start_build(projectName=project, **overrides)["build"]

    def get(self, build_id: str) -> Any:
        return self.client("codebuild").batch_get_builds(ids=[build_id])["builds"][0]

    def ended(self, build_id: str) -> Any:
        return eventually(
            lambda: build if (build := self.get(build_id))["buildStatus"] != "IN_PROGRESS" else None,
            "the build's end",
        )

    def run(self, buildspec: Any, *, overrides: Mapping[str, Any] | None = None, **members: Any) -> Any:
        return self.ended(self.start(self.project(buildspec, **members), **(overrides or {}))["id"])

    def log(self, build: Any) -> list[str]:
        """What the commands and CodeBuild said, as CloudWatch Logs has it."""
        events = self.client("logs").get_log_events(
            logGroupName=build["logs"]["groupName"], logStreamName=build["logs"]["streamName"], startFromHead=True
        )
        return [event["message"] for event in events["events"]]


@pytest.fixture(scope="session")
def builds(cloud: RunningCloud, client: ClientFactory) -> Builds:
    client("s3").create_bucket(Bucket=BUCKET)
    return Builds(cloud, client)


def commands(*lines: str, **phase: Any) -> dict[str, Any]:
    return {"version": "0.2", "phases": {"build": {"commands": list(lines), **phase}}}


def phase_of(build: Any, name: str) -> Any:
    return next(phase for phase in build["phases"] if phase["phaseType"] == name)


def failure_of(build: Any) -> str:
    failed = next(phase for phase in build["phases"] if phase.get("phaseStatus") not in ("SUCCEEDED", None))
    return f"{failed['contexts'][0]['statusCode']}: {failed['contexts'][0]['message']}"


def archive(files: Mapping[str, str], *, executable: str = "") -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as packed:
        for name, text in files.items():
            entry = zipfile.ZipInfo(name)
            entry.external_attr = (0o100755 if name == executable else 0o100644) << 16
            packed.writestr(entry, text)
    return content.getvalue()


def s3_source(builds: Builds, content: bytes) -> dict[str, str]:
    key = f"{uuid.uuid4().hex}.zip"
    builds.client("s3").put_object(Bucket=BUCKET, Key=key, Body=content)
    return {"type": "S3", "location": f"{BUCKET}/{key}"}


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


def test_directories_and_variables_carry_over_and_exported_ones_are_reported(builds: Builds) -> None:
    build = builds.run(
        {
            "version": "0.2",
            "env": {"variables": {"GREETING": "from the buildspec"}, "exported-variables": ["RESULT", "ABSENT"]},
            "phases": {
                "install": {"commands": ["mkdir deep && cd deep", "export RESULT='two\nlines'"]},
                "build": {"commands": ["basename $PWD"]},
            },
        }
    )

    assert build["exportedEnvironmentVariables"] == [
        {"name": "RESULT", "value": "two\nlines"},
        {"name": "ABSENT", "value": ""},
    ]
    assert "deep" in builds.log(build)


def test_a_start_overrides_the_project_which_overrides_the_buildspec(builds: Builds) -> None:
    buildspec = {"env": {"variables": {"A": "spec", "B": "spec", "C": "spec"}}, **commands('echo "$A $B $C"')}
    environment = {
        "type": "LINUX_CONTAINER",
        "image": "aws/x",
        "computeType": "BUILD_GENERAL1_SMALL",
        "environmentVariables": [{"name": "B", "value": "project"}, {"name": "C", "value": "project"}],
    }

    build = builds.run(
        buildspec,
        environment=environment,
        overrides={"environmentVariablesOverride": [{"name": "C", "value": "start"}]},
    )

    assert "spec project start" in builds.log(build)


def test_a_variable_can_come_from_the_parameter_store(builds: Builds) -> None:
    builds.client("ssm").put_parameter(Name="/test/greeting", Value="stored", Type="String")

    build = builds.run(
        commands('echo "it is $GREETING"'),
        overrides={
            "environmentVariablesOverride": [{"name": "GREETING", "value": "/test/greeting", "type": "PARAMETER_STORE"}]
        },
    )

    assert "it is stored" in builds.log(build)


def test_a_build_inherits_nothing_of_the_emulator(builds: Builds) -> None:
    build = builds.run(commands("env | cut -d= -f1 | sort | tr '\\n' ' '"))

    names = next(line for line in builds.log(build) if " PATH " in line).split()
    assert not [name for name in names if name.startswith(("MINISTACK", "GATEWAY", "LOCAL_CLOUD_HOME", "DOCKER"))]


def test_a_build_reaches_s3_but_not_the_packages_of_this_checkout(builds: Builds) -> None:
    build = builds.run(
        commands(
            f'python3 -c \'import boto3; boto3.client("s3").put_object(Bucket="{BUCKET}", Key="made", Body=b"x")\'',
            "python3 -c 'import decision_provenance' 2>/dev/null || echo not importable",
        )
    )

    assert build["buildStatus"] == "SUCCEEDED"
    assert builds.client("s3").get_object(Bucket=BUCKET, Key="made")["Body"].read() == b"x"
    assert "not importable" in builds.log(build)


def test_a_source_archive_brings_its_buildspec_and_runnable_scripts(builds: Builds) -> None:
    content = archive(
        {"buildspec.yml": "version: 0.2\nphases: {build: {commands: [./run.sh]}}", "run.sh": "#!/bin/sh\necho ran\n"},
        executable="run.sh",
    )

    build = builds.run("", source=s3_source(builds, content))

    assert build["buildStatus"] == "SUCCEEDED"
    assert "ran" in builds.log(build)


def test_a_source_archive_cannot_write_outside_the_build(builds: Builds) -> None:
    content = archive({"buildspec.yml": "version: 0.2", "../../escaped": "x"})

    build = builds.run("", source=s3_source(builds, content))

    assert "'../../escaped', a path outside the source" in failure_of(build)


def test_a_missing_source_fails_the_build_by_name(builds: Builds) -> None:
    build = builds.run("", source={"type": "S3", "location": f"{BUCKET}/absent.zip"})

    assert f"cannot download s3://{BUCKET}/absent.zip" in failure_of(build)


def test_a_source_without_the_named_buildspec_fails_the_build_by_name(builds: Builds) -> None:
    build = builds.run("", source=s3_source(builds, archive({"README.md": "x"})) | {"buildspec": "ci.yml"})

    assert failure_of(build) == ("YAML_FILE_ERROR: the source has no file ci.yml: add it, or name another buildspec")


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


def test_the_same_token_means_the_same_build(builds: Builds) -> None:
    project = builds.project(commands("true"))

    first, second = (builds.start(project, idempotencyToken="token") for _ in range(2))

    assert first["id"] == second["id"]
    with pytest.raises(ClientError, match="used with other parameters"):
        builds.start(project, idempotencyToken="token", timeoutInMinutesOverride=7)
    builds.ended(first["id"])


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


def test_artifacts_are_uploaded_file_by_file(builds: Builds) -> None:
    build = builds.run(
        {
            **commands("mkdir -p out/deep", "echo 1 >out/a.txt", "echo 2 >out/deep/b.txt"),
            "artifacts": {"base-directory": "out", "files": ["**/*"]},
        },
        artifacts={"type": "S3", "location": BUCKET, "name": "plain", "path": "results", "packaging": "NONE"},
    )

    assert build["artifacts"]["location"] == f"arn:aws:s3:::{BUCKET}/results/plain"
    assert builds.client("s3").get_object(Bucket=BUCKET, Key="results/plain/deep/b.txt")["Body"].read() == b"2\n"


def test_artifacts_can_be_one_zip(builds: Builds) -> None:
    build = builds.run(
        {**commands("echo 1 >a.txt"), "artifacts": {"files": ["a.txt"]}},
        artifacts={
            "type": "S3",
            "location": BUCKET,
            "name": "all.zip",
            "namespaceType": "BUILD_ID",
            "packaging": "ZIP",
        },
    )

    key = build["artifacts"]["location"].removeprefix(f"arn:aws:s3:::{BUCKET}/")
    assert key == f"{build['id'].split(':')[1]}/all.zip"
    packed = zipfile.ZipFile(io.BytesIO(builds.client("s3").get_object(Bucket=BUCKET, Key=key)["Body"].read()))
    assert packed.namelist() == ["a.txt"]


def test_artifacts_that_match_nothing_fail_the_build(builds: Builds) -> None:
    build = builds.run(
        {**commands("true"), "artifacts": {"files": ["absent"]}},
        artifacts={"type": "S3", "location": BUCKET, "name": "x", "packaging": "NONE"},
    )

    assert failure_of(build) == "CLIENT_ERROR: artifacts.files: no matching artifact paths found for 'absent'"


def test_artifacts_for_a_bucket_that_is_not_there_fail_the_build_by_name(builds: Builds) -> None:
    build = builds.run(
        {**commands("echo 1 >a.txt"), "artifacts": {"files": ["a.txt"]}},
        artifacts={"type": "S3", "location": "no-such-bucket", "name": "x", "packaging": "NONE"},
    )

    assert build["buildStatus"] == "FAILED"
    assert failure_of(build).startswith("CLIENT_ERROR: cannot upload s3://no-such-bucket/x/a.txt: ")


def test_a_project_can_name_its_log_group(builds: Builds) -> None:
    build = builds.run(
        commands("echo here"), logsConfig={"cloudWatchLogs": {"status": "ENABLED", "groupName": "/my/builds"}}
    )

    assert build["logs"]["groupName"] == "/my/builds"
    assert "here" in builds.log(build)
