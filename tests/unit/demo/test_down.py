"""`make down` can be run at any time, and as often as one likes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from local_cloud.demo.down import down
from local_cloud.running_cloud import RunningCloud

CdkThat = Callable[[str], Path]


@pytest.fixture
def stopped(monkeypatch: pytest.MonkeyPatch, cloud: RunningCloud) -> list[Path]:
    """The local cloud is said to run, healthy; the list is filled when it is stopped."""
    stopped: list[Path] = []
    monkeypatch.setattr(RunningCloud, "find", classmethod(lambda cls, home: cloud))
    monkeypatch.setattr(RunningCloud, "healthy", lambda self: True)
    monkeypatch.setattr("local_cloud.demo.down.stop", stopped.append)
    (cloud.home / "cdk.out").mkdir()
    (cloud.home / "cdk.out" / "manifest.json").touch()
    return stopped


def test_down_destroys_the_stacks_before_it_stops_the_cloud(
    console: Console, cloud: RunningCloud, cdk_that: CdkThat, stopped: list[Path]
) -> None:
    calls = cdk_that("exit 0")

    assert down(console, home=cloud.home) == 0

    assert calls.read_text().startswith(f"destroy local/* --force --app {cloud.home}/cdk.out")
    assert stopped == [cloud.home]


def test_a_destroy_that_fails_is_told_and_the_cloud_stops_all_the_same(
    console: Console, cloud: RunningCloud, cdk_that: CdkThat, stopped: list[Path], shown: Callable[[], str]
) -> None:
    cdk_that("echo 'the bucket is not empty'; exit 1")

    assert down(console, home=cloud.home) == 0

    assert "the bucket is not empty" in shown()
    assert stopped == [cloud.home]


def test_after_a_deploy_that_was_interrupted_at_synthesis_there_is_nothing_to_destroy(
    console: Console, cloud: RunningCloud, cdk_that: CdkThat, stopped: list[Path]
) -> None:
    calls = cdk_that("exit 0")
    (cloud.home / "cdk.out" / "manifest.json").unlink()

    assert down(console, home=cloud.home) == 0

    assert not calls.exists()
    assert stopped == [cloud.home]


def test_only_logs_remain(console: Console, cloud: RunningCloud, cdk_that: CdkThat, stopped: list[Path]) -> None:
    cdk_that("exit 0")
    (cloud.home / "outputs.json").write_text("{}")
    (cloud.home / "deploy.log").write_text("log")

    down(console, home=cloud.home)

    left = {path.name for path in cloud.home.iterdir()} - {"tmp"}  # which the cloud itself removes when it stops
    assert left == {"deploy.log", "destroy.log"}


def test_down_without_a_cloud_is_fine_twice(console: Console, tmp_path: Path, shown: Callable[[], str]) -> None:
    assert down(console, home=tmp_path / ".local-cloud") == 0
    assert down(console, home=tmp_path / ".local-cloud") == 0

    assert shown().splitlines() == ["Nothing runs.", "Nothing runs."]
    assert not (tmp_path / ".local-cloud").exists()
