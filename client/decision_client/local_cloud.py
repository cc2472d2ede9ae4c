"""Find the local cloud of a checkout, and a session that can only reach it."""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path

import boto3
import botocore.session

from decision_client.errors import EndpointUnavailable

HOME_NAME = ".local-cloud"
LOCAL_ENDPOINT_NAME = "decisions-local"
_DESCRIPTION = "cloud.json"
_CONNECT_SECONDS = 5.0


@dataclass(frozen=True)
class LocalCloud:
    """Where the local cloud listens, and the account and region it plays."""

    port: int
    account: str
    region: str

    @property
    def endpoint_url(self) -> str:
        """The URL of every service of it."""
        return f"http://127.0.0.1:{self.port}"

    def session(self) -> boto3.Session:
        """A session with made-up credentials that reads no profile or configuration file of the user's."""
        core = botocore.session.Session(
            session_vars={
                "profile": (None, None, None, None),
                "config_file": (None, None, os.devnull, None),
                "credentials_file": (None, None, os.devnull, None),
            }
        )
        return boto3.Session(
            botocore_session=core,
            aws_access_key_id=self.account,
            aws_secret_access_key="local",  # noqa: S106
            region_name=self.region,
        )


def find_home(start: Path) -> Path | None:
    """The `.local-cloud` folder of `start` or of its nearest parent that has one with a cloud described in it."""
    for folder in (start, *start.parents):
        if (folder / HOME_NAME / _DESCRIPTION).is_file():
            return folder / HOME_NAME
    return None


def local_cloud_of(home: Path | None) -> LocalCloud:
    """The local cloud of a folder, or without one that of the working directory or its nearest parent that has one.

    Raises
    ------
    EndpointUnavailable
        If there is none, or it does not run any more.
    """
    found = home or find_home(Path.cwd())
    if found is None:
        raise EndpointUnavailable(
            f"no local cloud runs here: neither {Path.cwd()} nor a parent of it has {HOME_NAME}/{_DESCRIPTION}; "
            "start one with `make demo` in the checkout, or name its folder (--local-home)"
        )
    return read_local_cloud(found)


def read_local_cloud(home: Path) -> LocalCloud:
    """Read what the local cloud wrote about itself.

    Raises
    ------
    EndpointUnavailable
        If there is none in `home`, or it does not run any more.
    """
    path = home / _DESCRIPTION
    try:
        described = json.loads(path.read_text())
        cloud = LocalCloud(int(described["port"]), str(described["account"]), str(described["region"]))
    except FileNotFoundError as error:
        raise EndpointUnavailable(f"no local cloud runs: {path} is not there; start one with `make demo`") from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise EndpointUnavailable(
            f"{path} does not describe a local cloud ({error}): run `make down`, then `make demo`"
        ) from error
    try:
        socket.create_connection(("127.0.0.1", cloud.port), timeout=_CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise EndpointUnavailable(
            f"the local cloud that {path} describes does not answer on port {cloud.port}: start it with `make demo`"
        ) from error
    return cloud
