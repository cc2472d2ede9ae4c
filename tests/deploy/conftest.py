"""One local cloud for all deploy tests; each test deploys an environment of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud.demo.cdk import CdkCli
from local_cloud.lifecycle import start, stop
from local_cloud.running_cloud import RunningCloud
from tests.support.deployment import CDK, Deployment, MakeEnvironment, tiny_environment

_seeds = itertools.count(100)
_CLOUD = {
    "LOCAL_CLOUD_STARTUP_SECONDS": "20",
    # An environment for AWS looks at its builds every 15 seconds: here that is one and a half.
    "SFN_WAIT_SCALE": "0.1",
}


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    """A bootstrapped local cloud."""
    if not CDK.exists():
        pytest.skip("the CDK CLI is not installed: run `make install`")
    running = start(tmp_path_factory.mktemp("cloud"), environment=_CLOUD)
    try:
        CdkCli(running).bootstrap(on_news=lambda _: None)
        yield running
    finally:
        stop(running.home)


@pytest.fixture
def environment(cloud: RunningCloud, tmp_path: Path) -> MakeEnvironment:
    """Makes environments with tiny models."""

    def make(name: str, *, like: str = "local") -> Deployment:
        return tiny_environment(name, tmp_path / name, cloud, seed=next(_seeds), like=like)

    return make
