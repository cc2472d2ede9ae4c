"""AWS clients of a local cloud, closed when the tests are over."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import botocore.session
from botocore.config import Config

from local_cloud.lifecycle import RunningCloud

ClientFactory = Callable[[str], Any]
"""`client("s3")`: one client per service."""


@contextlib.contextmanager
def clients_of(cloud: RunningCloud) -> Iterator[ClientFactory]:
    """Make clients as they are asked for; an error is raised at once, not retried."""
    session = botocore.session.get_session()
    made: dict[str, Any] = {}

    def get(service: str) -> Any:
        if service not in made:
            made[service] = session.create_client(
                service,
                endpoint_url=cloud.endpoint_url,
                region_name=cloud.region,
                aws_access_key_id=cloud.account,
                aws_secret_access_key="local",
                config=Config(retries={"total_max_attempts": 1}),
            )
        return made[service]

    yield get
    for client in made.values():
        client.close()
