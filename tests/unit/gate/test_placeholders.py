"""Made-up ids do not get into a template for AWS."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate import placeholders
from gate.assembly import read_templates
from tests.support.assemblies import write_assembly


def _made_up(folder: Path, text: str) -> list[str]:
    resources = {"Role": {"Type": "AWS::IAM::Role", "Properties": {"Description": text}}}
    return placeholders.placeholders(read_templates(write_assembly(folder, {"dev/Endpoint": resources})))


@pytest.mark.parametrize(
    "text",
    [
        "arn:aws:iam::123456789012:root",
        "arn:aws:iam::000000000000:root",
        "111122223333.dkr.ecr.eu-west-1.amazonaws.com",
        "ops@example.com",
        "vpc-12345",
        "subnet-xxxxxxxx",
        "sg-0123456789abcdef0",
        f"adapter@sha256:{'0' * 64}",
        f"adapter@sha256:{'13c16f42' * 8}",
        "${Token[TOKEN.12]}",
        "CHANGEME",
        "<account-id>",
    ],
)
def test_a_made_up_id_is_found(tmp_path: Path, text: str) -> None:
    assert len(_made_up(tmp_path, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        # The registry of AWS's own containers.
        "763104351884.dkr.ecr.us-east-1.amazonaws.com",
        "sha256:1f19c220f5f169228f20cdddca00f4838be22a3a1ce9002bc444006adc3d6d43",
        "vpc-0a1b2c3d4e5f60718",
        "1234567890123456",
        "arn:${AWS::Partition}:iam::${AWS::AccountId}:role/cdk-hnb659fds-deploy-role",
    ],
)
def test_a_real_id_is_none(tmp_path: Path, text: str) -> None:
    assert _made_up(tmp_path, text) == []


def test_the_file_and_the_place_in_it_are_said(tmp_path: Path) -> None:
    (problem,) = _made_up(tmp_path, "vpc-12345")

    assert problem.startswith("devEndpoint.template.json: Resources/Role/Properties/Description holds 'vpc-12345'")


@pytest.mark.parametrize(("cloud", "status"), [("aws", 1), ("local", 0)])
def test_only_the_local_cloud_may_have_a_made_up_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cloud: str, status: int
) -> None:
    _made_up(tmp_path / "assembly", "arn:aws:iam::123456789012:root")
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "dev.yaml").write_text(f"cloud: {cloud}\n")
    monkeypatch.chdir(tmp_path)

    assert placeholders.main(["assembly"]) == status
