"""`make demo` and `make down`, as a person runs them, with the sample model."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from local_cloud.demo.checkout import ROOT, SAMPLE_MODEL, SAMPLE_MODEL_SHA256
from local_cloud.marks import marked_processes
from local_cloud.running_cloud import RunningCloud

pytestmark = [
    pytest.mark.deploy,
    pytest.mark.smollm2,
    pytest.mark.skipif(not SAMPLE_MODEL.exists(), reason="the sample model is missing: run `make sample-model`"),
]


def demo(command: str, home: Path) -> str:
    run = subprocess.run(
        [sys.executable, "-m", "local_cloud.demo", command, "--home", str(home)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout
    return run.stdout


def test_the_demo_answers_finds_things_in_place_and_leaves_nothing_running(tmp_path: Path) -> None:
    home = tmp_path / "cloud"
    try:
        shown = demo("up", home)
        cloud = RunningCloud.find(home)
        assert cloud is not None
        assert all(words in shown for words in ("account-access", "billing", SAMPLE_MODEL_SHA256[:12], "make down"))

        demo("up", home)
        assert RunningCloud.find(home) == cloud, "the second time finds the first one's cloud"

        asked = subprocess.run(
            [str(Path(sys.executable).parent / "decisions"), "invoke", "--local-home", str(home), "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        assert sum(json.loads(asked.stdout)["result"]["probabilities"]) == pytest.approx(1, abs=1e-6)
    finally:
        demo("down", home)
    assert not marked_processes(cloud.mark)
    assert not (home / "models").exists()

    assert "Nothing runs" in demo("down", home)
