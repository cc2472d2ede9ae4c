"""Processes that the emulator starts can be stopped, all of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local_cloud.marks import MARK_VARIABLE, marked_processes, new_mark
from local_cloud.processes import spawn, stop_group
from tests.support.waiting import eventually


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(MARK_VARIABLE, mark := new_mark())
    return mark


def test_stopping_a_process_stops_what_it_started(mark: str) -> None:
    process = spawn(["sh", "-c", "sleep 300 & sleep 300"], env={"PATH": "/usr/bin:/bin"})
    eventually(lambda: len(marked_processes(mark)) == 3, "the shell and its two children")

    stop_group(process, 5)

    eventually(lambda: not marked_processes(mark), "the end of all three")


def test_a_process_that_ignores_sigterm_is_killed(mark: str, tmp_path: Path) -> None:
    process = spawn(["sh", "-c", f"trap '' TERM; touch {tmp_path}/ready; sleep 300"], env={"PATH": "/usr/bin:/bin"})
    eventually((tmp_path / "ready").exists, "the trap")

    assert stop_group(process, 0.1) == -9


def test_a_program_that_does_not_exist_says_so(tmp_path: Path) -> None:
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = spawn(["/no/such/program"], env={}, stderr=file)

    assert process.wait(10) == 1
    assert output.read_text() == "cannot run /no/such/program: No such file or directory\n"


def test_the_emulator_refuses_another_version_of_ministack(tmp_path: Path) -> None:
    pretend = "import importlib.metadata as m; m.version = lambda name: '9.9'; from local_cloud import emulator; "

    ended = subprocess.run(
        [sys.executable, "-c", pretend + "emulator.main()"], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 1
    assert "installed is 9.9: run `pip install ministack==1.5.33`" in ended.stderr
