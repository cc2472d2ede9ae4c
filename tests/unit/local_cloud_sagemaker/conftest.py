from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_cloud import lifecycle
from tests.support import stand_in_adapter
from tests.support.hosting import Hosting


@pytest.fixture(scope="session")
def adapter() -> str:
    """The command of the stand-in adapter."""
    return shlex.join([sys.executable, str(Path(stand_in_adapter.__file__))])


@pytest.fixture(scope="session")
def hosting(tmp_path_factory: pytest.TempPathFactory, adapter: str) -> Iterator[Hosting]:
    """A local cloud whose containers are stand-in adapters."""
    cloud = lifecycle.start(
        tmp_path_factory.mktemp("cloud"),
        environment={
            "LOCAL_CLOUD_ADAPTER": adapter,
            "LOCAL_CLOUD_STARTUP_SECONDS": "8",
            "LOCAL_CLOUD_BAKE_SECONDS": "60",
            "AWS_SESSION_TOKEN": "not for containers",
        },
    )
    yield Hosting(cloud)
    lifecycle.stop(cloud.home)
