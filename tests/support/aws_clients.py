"""AWS clients of a local cloud; an error is raised at once, not retried."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
from botocore.config import Config

from local_cloud.running_cloud import RunningCloud

ClientFactory = Callable[[str], Any]
"""`client("s3")`: one client per service."""


def client_of(cloud: RunningCloud, service: str) -> Any:
    """A client of one service, for many threads."""
    return botocore.session.get_session().create_client(
        service,
        endpoint_url=cloud.endpoint_url,
        region_name=cloud.region,
        aws_access_key_id=cloud.account,
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1}, max_pool_connections=50),
    )


@contextlib.contextmanager
def clients_of(cloud: RunningCloud) -> Iterator[ClientFactory]:
    """Make clients as they are asked for, and close them at the end."""
    made: dict[str, Any] = {}

    def get(service: str) -> Any:
        if service not in made:
            made[service] = client_of(cloud, service)
        return made[service]

    yield get
    for client in made.values():
        client.close()
