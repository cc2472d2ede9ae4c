"""`decisions package`: the build that a deploy would start, started beforehand and awaited."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from decision_client.builds import run
from decision_client.cli import app
from decision_client.commands import package
from tests.support.cloud_assembly import ACCOUNT, build_run, write_assembly
from tests.support.fake_builds import IMAGE_DIGEST, MANIFEST, RESULT_KEY
from tests.support.stub_aws import DENIED, THROTTLED, Refused, StubAws

EXPORTS = {
    "dev-Artifacts:Project": "packaging",
    "dev-Artifacts:Bucket": "models",
    "dev-Artifacts:Repository": "adapter",
}
BUILD_ID = "packaging:1"
LOG = {"groupName": "packaging", "streamName": "1", "deepLink": "https://console/log"}
NO_OBJECT = Refused("NoSuchKey", 404)
MODEL = build_run(
    Project={"Fn::ImportValue": "dev-Artifacts:Project"},
    ResultBucket={"Fn::ImportValue": "dev-Artifacts:Bucket"},
    ResultKey=RESULT_KEY,
    Inputs="01" * 32,
    Environment={"Fn::Join": ["", ['{"MODEL_NAME":"tiny","REGION":"', {"Ref": "AWS::Region"}, '"}']]},
)
IMAGE = build_run(
    Project={"Ref": "Project"},
    ResultRepository={"Fn::ImportValue": "dev-Artifacts:Repository"},
    ResultTag="cpu-0123",
    Inputs="02" * 32,
    Environment='{"TAG":"cpu-0123"}',
)
ENVIRONMENT = {"MODEL_NAME": "tiny", "REGION": "us-east-1"}


def stored_manifest(_: object) -> dict[str, Any]:
    content = MANIFEST.to_bytes()
    return {"Body": io.BytesIO(content), "ContentLength": len(content), "ETag": '"1"'}


def build(status: str = "IN_PROGRESS", phase: str = "BUILD", **more: Any) -> dict[str, Any]:
    return {"builds": [{"id": BUILD_ID, "buildStatus": status, "currentPhase": phase, "logs": LOG, **more}]}


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1", "AWS_PROFILE": None, "AWS_CONFIG_FILE": "/dev/null"})


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.Builds.__init__, "__kwdefaults__", {"clock": lambda: 0.0, "sleep": lambda seconds: None})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> StubAws:
    """An account in which `dev/Artifacts` is deployed and the model is not packaged yet; its build takes two looks."""
    stub = StubAws(
        GetCallerIdentity={"Account": ACCOUNT, "Arn": f"arn:aws:iam::{ACCOUNT}:user/deployer"},
        ListExports=[
            {"Exports": [{"Name": name, "Value": value}], "NextToken": "more"} for name, value in EXPORTS.items()
        ]
        + [{"Exports": []}],
        DescribeStackResource={"StackResourceDetail": {"PhysicalResourceId": "image-project"}},
        GetObject=[NO_OBJECT, stored_manifest],
        ListBuildsForProject={"ids": []},
        StartBuild={"build": {"id": BUILD_ID}},
        BatchGetBuilds=[build(phase="INSTALL"), build(), build("SUCCEEDED")],
        GetLogEvents={"events": [{"message": "[Container] Running\n"}, {"message": "reading [m.gguf]: 40 %\n"}]},
    )
    monkeypatch.setattr(package, "clients_of", lambda session: stub)
    return stub


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    folder = write_assembly(tmp_path, {"Model": MODEL, "Image": IMAGE})
    return ["package", "dev", "--assembly", str(folder)]


def test_the_build_of_the_deploy_is_started_with_more_time(runner: CliRunner, aws: StubAws, command: list[str]) -> None:
    outcome = runner.invoke(app, command)

    assert outcome.exit_code == 0, outcome.output
    (started,) = aws.named("StartBuild")
    assert started["projectName"] == "packaging"
    assert started["timeoutInMinutesOverride"] == 8 * 60
    assert {each["name"]: each["value"] for each in started["environmentVariablesOverride"]} == ENVIRONMENT


def test_the_packages_uri_and_digest_are_printed(runner: CliRunner, aws: StubAws, command: list[str]) -> None:
    outcome = runner.invoke(app, command)

    assert outcome.stdout == f"uri     s3://models/{MANIFEST.prefix}\ndigest  {MANIFEST.digest}\n"


def test_phases_and_the_last_line_of_the_log_are_shown(runner: CliRunner, aws: StubAws, command: list[str]) -> None:
    outcome = runner.invoke(app, command)

    assert "0:00:00  INSTALL  reading [m.gguf]: 40 %\n0:00:00  BUILD  reading [m.gguf]: 40 %\n" in outcome.stderr


def test_a_finished_package_is_not_built_again(runner: CliRunner, aws: StubAws, command: list[str]) -> None:
    aws.answers["GetObject"] = stored_manifest

    outcome = runner.invoke(app, [*command, "--json"])

    assert json.loads(outcome.stdout) == {
        "uri": f"s3://models/{MANIFEST.prefix}",
        "digest": MANIFEST.digest,
        "build_id": None,
    }
    assert "complete already" in outcome.stderr
    assert aws.named("StartBuild") == []


def test_a_build_that_runs_already_is_awaited(runner: CliRunner, aws: StubAws, command: list[str]) -> None:
    told = [{"name": name, "value": value} for name, value in {**ENVIRONMENT, "BUCKET": "models"}.items()]
    aws.answers |= {
        "ListBuildsForProject": {"ids": [BUILD_ID]},
        "BatchGetBuilds": [build(environment={"environmentVariables": told}), build("SUCCEEDED")],
    }

    outcome = runner.invoke(app, command)

    assert outcome.exit_code == 0, outcome.output
    assert f"Build {BUILD_ID} is at it already" in outcome.stderr
    assert aws.named("StartBuild") == []


def test_a_running_build_of_another_model_is_not_taken_for_this_one(
    runner: CliRunner, aws: StubAws, command: list[str]
) -> None:
    other = {"environmentVariables": [{"name": "MODEL_NAME", "value": "other"}]}
    aws.answers |= {
        "ListBuildsForProject": {"ids": ["packaging:0"]},
        "BatchGetBuilds": [build(environment=other), build("SUCCEEDED")],
    }

    runner.invoke(app, command)

    assert len(aws.named("StartBuild")) == 1


def test_an_image_is_built_by_its_own_project(runner: CliRunner, aws: StubAws, command: list[str]) -> None:
    aws.answers["DescribeImages"] = [
        Refused("ImageNotFoundException"),
        {"imageDetails": [{"imageDigest": IMAGE_DIGEST}]},
    ]

    outcome = runner.invoke(app, [*command, "--image", "--hours", "1.5"])

    assert outcome.exit_code == 0, outcome.output
    assert outcome.stdout == f"uri     adapter:cpu-0123\ndigest  {IMAGE_DIGEST}\n"
    (started,) = aws.named("StartBuild")
    assert (started["projectName"], started["timeoutInMinutesOverride"]) == ("image-project", 90)


def test_a_failed_build_exits_1_with_its_phase_last_lines_and_log(
    runner: CliRunner, aws: StubAws, command: list[str]
) -> None:
    phases = [{"phaseType": "BUILD", "phaseStatus": "FAILED", "contexts": [{"message": "exit status 1"}]}]
    aws.answers["BatchGetBuilds"] = build("FAILED", phases=phases)

    outcome = runner.invoke(app, command)

    assert outcome.exit_code == 1
    for said in (f"build {BUILD_ID} FAILED in phase BUILD: exit status 1", "reading [m.gguf]", "https://console/log"):
        assert said in outcome.stderr


def test_ctrl_c_says_that_the_build_goes_on_and_how_to_stop_it(
    runner: CliRunner, aws: StubAws, command: list[str]
) -> None:
    def interrupted(_: object) -> Iterator[None]:
        raise KeyboardInterrupt

    aws.answers["BatchGetBuilds"] = interrupted

    outcome = runner.invoke(app, command)

    assert outcome.exit_code == 130
    assert f"aws codebuild stop-build --region us-east-1 --id {BUILD_ID}" in outcome.stderr


def test_a_look_that_aws_does_not_answer_does_not_end_the_wait(
    runner: CliRunner, aws: StubAws, command: list[str]
) -> None:
    aws.answers["BatchGetBuilds"] = [THROTTLED, build("SUCCEEDED")]

    assert runner.invoke(app, command).exit_code == 0


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"ListExports": {"Exports": []}}, "deploy stack dev-Artifacts of this app first"),
        ({"ListExports": DENIED}, "may not call cloudformation:ListExports"),
        ({"GetCallerIdentity": {"Account": "210987654321", "Arn": "arn:x"}}, "the stacks go to 123456789012"),
        ({"GetObject": Refused("AccessDenied", 403)}, "may not be read"),
        ({"ListBuildsForProject": Refused("ResourceNotFoundException")}, "deploy its stack first"),
        ({"StartBuild": DENIED}, "may not call codebuild:StartBuild"),
        ({"BatchGetBuilds": Refused("ExpiredTokenException")}, "the build itself goes on"),
    ],
)
def test_what_stands_in_the_way_exits_3_with_what_to_do(
    runner: CliRunner, aws: StubAws, command: list[str], changes: dict[str, Any], sentence: str
) -> None:
    aws.answers |= changes

    outcome = runner.invoke(app, command)

    assert outcome.exit_code == 3
    assert sentence in outcome.stderr


def test_an_environment_that_builds_nothing_exits_2(runner: CliRunner, aws: StubAws, tmp_path: Path) -> None:
    folder = write_assembly(tmp_path / "other", {})

    outcome = runner.invoke(app, ["package", "dev", "--assembly", str(folder)])

    assert outcome.exit_code == 2
    assert "builds a model" in outcome.stderr
