"""One local cloud for all tests of this folder, in a home of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from local_cloud.lifecycle import start, stop
from local_cloud.running_cloud import RunningCloud
from tests.support.aws_clients import ClientFactory, clients_of
from tests.support.builds import BUCKET, Builds
from tests.support.stacks import Stacks


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningCloud]:
    running = start(tmp_path_factory.mktemp("cloud"))
    yield running
    stop(running.home)


@pytest.fixture(scope="session")
def client(cloud: RunningCloud) -> Iterator[ClientFactory]:
    with clients_of(cloud) as get:
        yield get


@pytest.fixture
def stacks(client: ClientFactory) -> Stacks:
    return Stacks(client)


@pytest.fixture(scope="session")
def builds(cloud: RunningCloud, client: ClientFactory) -> Builds:
    client("s3").create_bucket(Bucket=BUCKET)
    return Builds(cloud, client)
