"""How code inside the emulator, and the processes it starts, reach the emulator itself."""

from __future__ import annotations

import os
import threading
from typing import Any

import botocore.config
import botocore.session

from local_cloud.ministack_seams import account_id, region
from local_cloud.running_cloud import sdk_environment

_clients: dict[tuple[str, str, str], Any] = {}
_making_a_client = threading.Lock()


def endpoint_url() -> str:
    """The emulator's own address."""
    return f"http://127.0.0.1:{os.environ['GATEWAY_PORT']}"


def aws_environment() -> dict[str, str]:
    """The variables that make an AWS SDK talk to this emulator as the account and region of the current request."""
    return sdk_environment(endpoint_url(), account_id(), region())


def client(service: str) -> Any:
    """A boto3 client of the emulator for the account and region of the current request.

    Only for worker threads: on the event loop it would wait for an answer of the loop it blocks. Clients are made one
    at a time, because sessions are not thread safe, and shared, because clients are.
    """
    key = (service, account_id(), region())
    with _making_a_client:
        if key not in _clients:
            _clients[key] = botocore.session.get_session().create_client(
                service,
                endpoint_url=endpoint_url(),
                region_name=region(),
                aws_access_key_id=account_id(),
                aws_secret_access_key="local",  # noqa: S106 - the emulator checks no signature
                config=botocore.config.Config(retries={"total_max_attempts": 1}, connect_timeout=5, read_timeout=120),
            )
        return _clients[key]
