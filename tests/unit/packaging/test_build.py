"""The build runs from its own files alone, with a shell and Python."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from decision_client.packaging.progress import Progress

ROOT = Path(__file__).parents[3]
PACKAGING = ROOT / "client/decision_client/packaging"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """The files of the build's source, and nothing else of the checkout."""
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGING, tmp_path / "decision_client/packaging", ignore=ignore)
    (tmp_path / "decision_client/__init__.py").touch()
    shutil.copytree(ROOT / "provenance/decision_provenance", tmp_path / "decision_provenance", ignore=ignore)
    return tmp_path


def commands() -> list[str]:
    spec = yaml.safe_load((PACKAGING / "buildspec.yml").read_text())
    assert str(spec["version"]) == "0.2"
    assert set(spec["phases"]) == {"install", "build"}
    return [command for phase in ("install", "build") for command in spec["phases"][phase]["commands"]]


def test_a_build_with_nothing_set_ends_with_one_sentence_and_a_status(source: Path) -> None:
    environment = {
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), "/usr/bin", "/bin")),
        "AWS_REGION": "eu-west-1",
    }

    ended = subprocess.run(
        ["/bin/sh", "-c", "\n".join(commands())],
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1, ended.stderr
    assert ended.stdout.splitlines()[-1].startswith("packaging refused: SOURCE is not set; MODEL_NAME is not set")
    assert ended.stderr == ""


def test_what_the_build_may_install_is_pinned_by_hash() -> None:
    lines = (PACKAGING / "requirements.lock").read_text().splitlines()
    names = [line for line in lines if not line.startswith(" ")]

    assert any(line.startswith("boto3==") for line in names)
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9a-z.]+ \\", line) for line in names)
    assert all("--hash=sha256:" in line for line in lines if line.startswith(" "))


def test_progress_is_said_every_few_seconds_and_at_the_end() -> None:
    said: list[str] = []
    now = 0.0

    progress = Progress("reading m.gguf", 100_000_000, say=said.append, clock=lambda: now)
    for second in range(11):
        now = float(second)
        progress.at(second * 10_000_000)
    progress.done()

    assert said == [
        "reading m.gguf: 50 of 100 MB (50 %), 10 MB/s, 5 s left",
        "reading m.gguf: 100 of 100 MB (100 %), 10 MB/s, 0 s left",
        "reading m.gguf: 100 MB in 10.0 s, 10 MB/s",
    ]
