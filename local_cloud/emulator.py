"""The process of the local cloud: ministack on loopback, with this package's services in place of what it lacks.

`python -m local_cloud up` starts it and knows how to stop it. By hand: `LOCAL_CLOUD_HOME=DIR GATEWAY_PORT=N python -m
local_cloud.emulator`; an inherited listening socket comes in as `LOCAL_CLOUD_SOCKET` (its descriptor).
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from local_cloud import paths
from local_cloud.running_cloud import ACCOUNT, REGION

MINISTACK_VERSION = "1.5.33"
SOCKET_VARIABLE = "LOCAL_CLOUD_SOCKET"

# A container has half a minute to drain after SIGTERM; an idle one is gone at once.
_STOP_SECONDS = 30.0


def main() -> None:
    """Serve until SIGTERM or SIGINT."""
    _require_ministack()
    home = paths.home()
    os.environ.update(_ministack_settings(home))
    _allow_many_open_files()
    services = _install_services()
    asyncio.run(_serve())
    _stop(services)
    # Whoever waits for a custom resource to answer would keep the interpreter alive for up to an hour.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _require_ministack() -> None:
    try:
        installed = importlib.metadata.version("ministack")
    except importlib.metadata.PackageNotFoundError:
        installed = "none"
    if installed != MINISTACK_VERSION:
        sys.exit(
            f"The local cloud extends private functions of ministack {MINISTACK_VERSION}, but installed is {installed}:"
            f" run `pip install ministack=={MINISTACK_VERSION}`"
        )


def _ministack_settings(home: Path) -> dict[str, str]:
    """What ministack reads when it is imported: loopback only, nothing outside the home, no Docker."""
    return {
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "LAMBDA_EXECUTOR": "local",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "PERSIST_STATE": "0",
        "S3_PERSIST": "0",
        "STATE_DIR": str(home / "tmp" / "state"),
        "S3_DATA_DIR": str(home / "tmp" / "s3"),
        "TMPDIR": str(paths.temporary()),
        # With a Docker daemon at hand it would remove the containers of other ministacks at start.
        "DOCKER_HOST": f"unix://{home / 'no-docker'}",
    }


def _allow_many_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with contextlib.suppress(ValueError, OSError):  # macOS reports more than it grants
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _install_services() -> list[Callable[[], None]]:
    """Put the extension in place; returns what stops each service. Imported here: ministack reads its settings once."""
    from local_cloud import (
        autoscaling,
        bucket_emptying,
        cloudwatch,
        codebuild,
        custom_resources,
        ecr_images,
        function_logs,
        ministack_seams,
        property_names,
        rollbacks,
        s3_encryption,
        sagemaker,
        stack_events,
    )

    ministack_seams.ignore_start_scripts()
    for service in (
        s3_encryption,
        bucket_emptying,
        ecr_images,
        cloudwatch,
        codebuild,
        autoscaling,
        sagemaker,
        custom_resources,
        function_logs,
        rollbacks,
        property_names,
        stack_events,
    ):
        service.install()
    for reset in (codebuild.reset, autoscaling.reset, sagemaker.reset):
        ministack_seams.on_reset(reset)
    return [codebuild.reset, sagemaker.reset]


async def _serve() -> None:
    from hypercorn.asyncio import serve
    from hypercorn.config import Config
    from ministack.app import app  # type: ignore[import-untyped]

    config = Config()
    socket = os.environ.pop(SOCKET_VARIABLE, None)
    config.bind = [f"fd://{socket}" if socket else f"127.0.0.1:{os.environ['GATEWAY_PORT']}"]
    config.keep_alive_timeout = 75
    config.graceful_timeout = 1
    stop = asyncio.Event()
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_number, stop.set)
    await serve(app, config, shutdown_trigger=stop.wait)


def _stop(services: list[Callable[[], None]]) -> None:
    """End what the services run, side by side, within the time a container may take to drain."""
    stopping = [threading.Thread(target=service, daemon=True) for service in services]
    for thread in stopping:
        thread.start()
    deadline = time.monotonic() + _STOP_SECONDS
    for thread in stopping:
        thread.join(max(0.0, deadline - time.monotonic()))


if __name__ == "__main__":
    main()
