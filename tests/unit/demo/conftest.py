"""A local cloud and a CDK CLI that play their part from a script, so that a demo takes a second."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from local_cloud.running_cloud import RunningCloud


@pytest.fixture
def cloud(tmp_path: Path) -> RunningCloud:
    """A local cloud that nobody started: a home, and a port where nothing listens."""
    home = tmp_path / ".local-cloud"
    home.mkdir()
    return RunningCloud(home=home, pid=os.getpid(), port=9, mark="none")


@pytest.fixture
def console() -> Console:
    """A console that is no terminal; what it printed is in its file."""
    return Console(file=io.StringIO(), width=200, force_terminal=False)


@pytest.fixture
def shown(console: Console) -> Callable[[], str]:
    """What the console has printed so far."""

    def read() -> str:
        file = console.file
        assert isinstance(file, io.StringIO)
        return file.getvalue()

    return read


@pytest.fixture
def cdk_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Replaces the CDK CLI by a shell script; returns the file to which each run adds its arguments."""

    def replace(script: str) -> Path:
        command, calls = tmp_path / "cdk", tmp_path / "calls"
        command.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{script}\n')
        command.chmod(0o755)
        monkeypatch.setattr("local_cloud.demo.cdk.CDK", command)
        return calls

    return replace
