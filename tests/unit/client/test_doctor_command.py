"""`decisions doctor`: which assembly it reads, what it prints, and how it ends."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from decision_client.cli import app
from decision_client.commands import doctor
from tests.support.cloud_assembly import ACCOUNT, endpoint, write_assembly
from tests.support.stub_aws import DENIED, Refused, StubAws

ARN = f"arn:aws:iam::{ACCOUNT}:user/deployer"


@pytest.fixture
def runner() -> CliRunner:
    return CliRunner(env={"COLUMNS": "60", "NO_COLOR": "1", "AWS_PROFILE": None, "AWS_CONFIG_FILE": "/dev/null"})


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> StubAws:
    """An account in which nothing is missing."""
    stub = StubAws(
        GetCallerIdentity={"Account": ACCOUNT, "Arn": ARN},
        GetParameter={"Parameter": {"Value": "21"}},
        ListServiceQuotas={
            "Quotas": [{"QuotaName": "ml.c6i.xlarge for endpoint usage", "QuotaCode": "L-C6I", "Value": 4.0}]
        },
        ListAWSDefaultServiceQuotas={"Quotas": []},
        DescribeInstanceTypeOfferings={"InstanceTypeOfferings": [{"InstanceType": "c6i.xlarge"}]},
        BatchGetImage={"images": [{}]},
        SimulatePrincipalPolicy=lambda asked: {
            "EvaluationResults": [{"EvalActionName": name, "EvalDecision": "allowed"} for name in asked["ActionNames"]]
        },
    )
    monkeypatch.setattr(doctor, "clients_of", lambda session: stub)
    return stub


@pytest.fixture
def assembly(tmp_path: Path) -> str:
    return str(write_assembly(tmp_path / "assembly", endpoint("ml.c6i.xlarge")))


def test_where_nothing_is_missing_it_exits_0(runner: CliRunner, aws: StubAws, assembly: str) -> None:
    outcome = runner.invoke(app, ["doctor", "dev", "--assembly", assembly])

    assert outcome.exit_code == 0, outcome.output
    assert "Nothing is missing." in outcome.stdout


def test_what_is_missing_has_a_whole_link_on_the_narrowest_terminal(
    runner: CliRunner, aws: StubAws, assembly: str
) -> None:
    aws.answers["ListServiceQuotas"]["Quotas"][0]["Value"] = 0.0

    outcome = runner.invoke(app, ["doctor", "dev", "--assembly", assembly])

    assert outcome.exit_code == 1
    page = "servicequotas/home/services/sagemaker/quotas/L-C6I?region=us-east-1"
    assert f"ml.c6i.xlarge  https://us-east-1.console.aws.amazon.com/{page}\n" in outcome.stdout


def test_what_could_not_be_checked_exits_3(runner: CliRunner, aws: StubAws, assembly: str) -> None:
    aws.answers["GetParameter"] = DENIED

    outcome = runner.invoke(app, ["doctor", "dev", "--assembly", assembly])

    assert outcome.exit_code == 3
    assert "0 missing, 1 not known." in outcome.stdout


def test_missing_outweighs_unknown(runner: CliRunner, aws: StubAws, assembly: str) -> None:
    aws.answers |= {"GetParameter": DENIED, "BatchGetImage": Refused("RepositoryNotFoundException")}

    assert runner.invoke(app, ["doctor", "dev", "--assembly", assembly]).exit_code == 1


def test_json_is_one_object_with_every_finding(runner: CliRunner, aws: StubAws, assembly: str) -> None:
    aws.answers["GetParameter"] = Refused("ParameterNotFound")

    outcome = runner.invoke(app, ["doctor", "dev", "--assembly", assembly, "--json"])

    document = json.loads(outcome.stdout)
    (bootstrap,) = [finding for finding in document["findings"] if finding["check"] == "bootstrap"]
    assert (document["environment"], document["status"], bootstrap["status"]) == ("dev", "missing", "missing")
    assert bootstrap["link"].startswith("https://us-east-1.console.aws.amazon.com/cloudformation/")


def test_the_cdk_out_of_the_app_is_read_by_default(
    runner: CliRunner, aws: StubAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_assembly(tmp_path / "cdk.out", endpoint("ml.c6i.xlarge"))
    monkeypatch.chdir(tmp_path)

    outcome = runner.invoke(app, ["doctor", "dev"])

    assert outcome.exit_code == 0, outcome.output
    assert "from cdk.out, written 20" in outcome.stdout


def stand_in_for_cdk(folder: Path, script: str) -> None:
    """An app whose CDK CLI is this shell script."""
    (folder / "cdk.json").write_text("{}")
    cdk = folder / "node_modules" / ".bin" / "cdk"
    cdk.parent.mkdir(parents=True)
    cdk.write_text(f"#!/bin/sh\n{script}\n")
    cdk.chmod(cdk.stat().st_mode | stat.S_IXUSR)


@pytest.mark.parametrize("status", [0, 1])
def test_without_one_the_apps_own_cdk_writes_it_even_if_it_reports_an_error_of_the_app(
    runner: CliRunner, aws: StubAws, assembly: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    stand_in_for_cdk(tmp_path, f'echo "$@" > asked; mkdir -p "$6"; cp -r {assembly}/. "$6"; exit {status}')
    monkeypatch.chdir(tmp_path)

    outcome = runner.invoke(app, ["doctor", "dev"])

    assert outcome.exit_code == 0, outcome.output
    assert (tmp_path / "asked").read_text().startswith("synth dev/* --quiet --no-notices --output ")


def test_synth_writes_it_anew_and_says_why_it_cannot(
    runner: CliRunner, aws: StubAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_assembly(tmp_path / "cdk.out", {})
    stand_in_for_cdk(tmp_path, "echo environments/dev.yaml: regoin is no setting >&2; exit 1")
    monkeypatch.chdir(tmp_path)

    outcome = runner.invoke(app, ["doctor", "dev", "--synth"])

    assert outcome.exit_code == 3
    assert "regoin is no setting" in outcome.stderr


@pytest.mark.parametrize(("files", "sentence"), [([], "--assembly"), (["cdk.json"], "npm install aws-cdk")])
def test_without_assembly_or_cdk_it_says_what_to_do(
    runner: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], sentence: str
) -> None:
    for name in files:
        (tmp_path / name).write_text("{}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    outcome = runner.invoke(app, ["doctor", "dev"])

    assert outcome.exit_code == 3
    assert sentence in outcome.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["dve"], "did you mean dev?"),
        (["dev", "--synth"], "leave one of them out"),
        (["dev", "--region", "eu-west-1"], "the stacks go to us-east-1"),
        (["dev", "--profile", "no-such-profile"], "no-such-profile"),
    ],
)
def test_a_wrong_command_line_exits_2(
    runner: CliRunner, aws: StubAws, assembly: str, arguments: list[str], sentence: str
) -> None:
    outcome = runner.invoke(app, ["doctor", *arguments, "--assembly", assembly], env={"COLUMNS": "200"})

    assert outcome.exit_code == 2
    assert sentence in outcome.stderr


@pytest.mark.parametrize("command", ["doctor", "package"])
def test_the_help_shows_an_example_and_every_exit_code(runner: CliRunner, command: str) -> None:
    outcome: Any = runner.invoke(app, [command, "--help"])

    assert f"decisions {command} dev" in outcome.stdout
    assert "Exit codes:" in outcome.stdout
