"""boto3 clients of a local cloud, closed when the tests are over."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import boto3
from botocore.config import Config

from local_cloud.lifecycle import RunningCloud

ClientFactory = Callable[[str], Any]
"""`client("s3")`: one client per service."""


@contextlib.contextmanager
def clients_of(cloud: RunningCloud) -> Iterator[ClientFactory]:
    """Make clients as they are asked for; an error is raised at once, not retried."""
    session = boto3.Session(aws_access_key_id=cloud.account, aws_secret_access_key="local", region_name=cloud.region)
    made: dict[str, Any] = {}

    def get(service: str) -> Any:
        if service not in made:
            config = Config(retries={"total_max_attempts": 1})
            made[service] = session.client(service, endpoint_url=cloud.endpoint_url, config=config)
        return made[service]

    yield get
    for client in made.values():
        client.close()
