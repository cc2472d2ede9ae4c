"""The workflow runs the gate, may read and nothing else, and runs only what was looked at."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
PATHS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def _steps(path: Path) -> list[dict[str, Any]]:
    jobs: dict[str, Any] = yaml.safe_load(path.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_commit(path: Path) -> None:
    used = [step["uses"] for step in _steps(path) if "uses" in step]

    assert [action for action in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", action)] == []


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_a_workflow_may_read_the_repository_and_nothing_else(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text())

    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name)
def test_no_text_of_a_pull_request_becomes_a_shells_words(path: Path) -> None:
    assert [step["run"] for step in _steps(path) if "${{" in step.get("run", "")] == []


def test_a_pull_request_is_checked_and_tested_as_on_a_developers_machine() -> None:
    commands = {step.get("run") for step in _steps(ROOT / ".github" / "workflows" / "pull-request.yml")}

    assert {"make check", "make test"} <= commands
