"""No container outlives the local cloud, however that ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud import lifecycle
from local_cloud.running_cloud import RunningCloud
from tests.support.hosting import Hosting, is_alive
from tests.support.waiting import eventually


@pytest.fixture
def cloud(tmp_path: Path, adapter: str) -> Iterator[RunningCloud]:
    cloud = lifecycle.start(tmp_path / "cloud", environment={"LOCAL_CLOUD_ADAPTER": adapter})
    yield cloud
    lifecycle.stop(cloud.home)


def test_a_stopped_cloud_leaves_no_container_and_no_model_behind(cloud: RunningCloud) -> None:
    hosting = Hosting(cloud)
    pid = hosting.ask(hosting.deploy())["pid"]

    lifecycle.stop(cloud.home)

    assert not is_alive(pid)
    models = cloud.home / "models"
    assert not models.exists() or list(models.iterdir()) == []


def test_a_killed_cloud_takes_its_containers_along(cloud: RunningCloud) -> None:
    hosting = Hosting(cloud)
    pid = hosting.ask(hosting.deploy())["pid"]

    os.kill(cloud.pid, signal.SIGKILL)

    eventually(lambda: not is_alive(pid), "the container ends")
