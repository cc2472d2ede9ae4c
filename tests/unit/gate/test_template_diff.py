"""The template diff as the gate runs it, against a base in a git repository of the test's own.

The base's `app.py` writes its templates without the CDK: what is tested is the comparison.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from gate import template_diff
from tests.support.assemblies import Resources, write_assembly

STORE = {"Store": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "models"}}}
RENAMED = {"Store": {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "weights"}}}
APP = """
import os, shutil
shutil.copytree("assembly", os.environ["CDK_OUTDIR"])
"""


def _git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
    return subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True).stdout  # noqa: S607


def _commit(root: Path, resources: Resources, message: str, *, app: str = APP) -> str:
    (root / "environments").mkdir(exist_ok=True)
    (root / "environments" / "dev.yaml").write_text("cloud: aws\n")
    (root / "cdk.json").write_text(json.dumps({"context": {}}))
    (root / "requirements.txt").write_text("aws-cdk-lib==2.275.0\n")
    (root / "app.py").write_text(app)
    write_assembly(root / "assembly", {"dev/Artifacts": resources})
    _git(root, "add", "--all")
    _git(root, "commit", "--message", message)
    return _git(root, "rev-parse", "HEAD").strip()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository whose one commit has a bucket; the test's directory."""
    root = tmp_path / "repository"
    root.mkdir()
    _git(root, "init", "--quiet", "--initial-branch=main")
    _commit(root, STORE, "A bucket")
    monkeypatch.chdir(root)
    for name in ("GITHUB_STEP_SUMMARY", "PULL_REQUEST_TEXT"):
        monkeypatch.delenv(name, raising=False)
    return root


def _compare(root: Path, *arguments: str) -> int:
    return template_diff.main(["--head", str(root / "assembly"), *arguments])


def test_a_replaced_bucket_fails_and_the_line_to_write_is_said(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _git(root, "switch", "--quiet", "--create", "change")
    _commit(root, RENAMED, "Rename the bucket")

    assert _compare(root, "--base", "main") == 1
    assert "\nReplaces: dev-Artifacts/Store\n" in capsys.readouterr().out


def test_a_replaced_bucket_passes_when_the_description_says_so(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _git(root, "switch", "--quiet", "--create", "change")
    _commit(root, RENAMED, "Rename the bucket")
    monkeypatch.setenv("PULL_REQUEST_TEXT", "We want this.\r\nReplaces: dev-Artifacts/Store\r\n")

    assert _compare(root, "--base", "main") == 0


def test_a_replaced_bucket_passes_when_a_commit_message_says_so(root: Path) -> None:
    _git(root, "switch", "--quiet", "--create", "change")
    _commit(root, RENAMED, "Rename the bucket\n\nReplaces: dev-Artifacts/Store")

    assert _compare(root, "--base", "main") == 0


@pytest.mark.parametrize(
    "line",
    [
        "Replaces: dev-Artifacts/*",
        "Deletes: dev-Artifacts/Store",
        "Replaces: Store",
        "replaces: dev-Artifacts/Store",
        "<!--\nReplaces: dev-Artifacts/Store\n-->",
        "<!-- of the template\nReplaces: dev-Artifacts/Store",
    ],
)
def test_only_the_exact_line_counts(root: Path, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    _git(root, "switch", "--quiet", "--create", "change")
    _commit(root, RENAMED, "Rename the bucket")
    monkeypatch.setenv("PULL_REQUEST_TEXT", line)

    assert _compare(root, "--base", "main") == 1


def test_what_loses_state_comes_first(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _git(root, "switch", "--quiet", "--create", "change")
    model = {"A": {"Type": "AWS::SageMaker::Model", "Properties": {"ModelName": "one"}}}
    _commit(root, model, "Only a model")

    _compare(root, "--base", "main")

    headings = [line for line in capsys.readouterr().out.splitlines() if line.startswith("### ")]
    assert headings == ["### Stateful resources that would be deleted or replaced", "### Added"]


def test_on_the_trunk_the_previous_commit_is_the_base(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _commit(root, RENAMED, "Rename the bucket")

    assert _compare(root) == 1
    assert "against the previous commit" in capsys.readouterr().out


def test_what_is_not_committed_yet_is_compared_with_the_last_commit(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_assembly(root / "assembly", {"dev/Artifacts": RENAMED})

    assert _compare(root) == 1
    assert "against the last commit" in capsys.readouterr().out


def test_with_no_commit_before_it_says_so_and_passes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _compare(root) == 0
    assert "no template is compared" in capsys.readouterr().out


def test_a_base_that_is_not_here_is_refused(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _compare(root, "--base", "origin/gone") == 1
    assert "git fetch origin" in capsys.readouterr().out


def test_a_base_that_does_not_synthesize_is_said_in_one_sentence(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = _commit(root, STORE, "Broken", app="import a_package_of_then")
    _git(root, "switch", "--quiet", "--create", "change")
    _commit(root, RENAMED, "Rename the bucket")

    assert _compare(root, "--base", "main") == 1
    told = capsys.readouterr().out
    assert f"The base {broken[:12]} does not synthesize" in told
    assert "No module named 'a_package_of_then'" in told


def test_a_base_without_a_cdk_app_is_said_in_one_sentence(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "cdk.json").unlink()
    _git(root, "commit", "--all", "--message", "No app any more")
    _git(root, "switch", "--quiet", "--create", "change")
    _commit(root, STORE, "An app again")

    assert _compare(root, "--base", "main") == 1
    assert (
        "does not synthesize with the packages of this checkout: its cdk.json cannot be read" in capsys.readouterr().out
    )


def test_a_base_that_cannot_be_compared_passes_when_that_is_said(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = _commit(root, STORE, "Broken", app="import a_package_of_then")
    _git(root, "switch", "--quiet", "--create", "change")
    _commit(root, RENAMED, "Rename the bucket")
    monkeypatch.setenv("PULL_REQUEST_TEXT", f"Not-compared: {broken[:12]}")

    assert _compare(root, "--base", "main") == 0


def test_the_local_cloud_has_nothing_to_lose(root: Path) -> None:
    _git(root, "switch", "--quiet", "--create", "change")
    (root / "environments" / "dev.yaml").write_text("cloud: local\n")
    _git(root, "commit", "--quiet", "--all", "--message", "Make it local")
    _git(root, "branch", "--force", "main")
    write_assembly(root / "assembly", {"dev/Artifacts": RENAMED})

    assert _compare(root) == 0


def test_the_markdown_goes_to_the_summary_of_the_workflow(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    _commit(root, RENAMED, "Rename the bucket")

    _compare(root)

    assert "Replaces: dev-Artifacts/Store" in (tmp_path / "summary.md").read_text()
