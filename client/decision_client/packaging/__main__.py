"""`python3 -m decision_client.packaging`: runs the job that the environment describes; exit status 1 with a reason."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError

from decision_client.packaging.job import package
from decision_client.packaging.settings import read_settings


def main() -> int:
    """Package, and say in one last line what came of it."""
    # A stopped build gets SIGTERM; as an exception it removes the temporary files and aborts a multipart upload.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # Every byte is hashed here, so a checksum computed by the SDK as well would only take time.
    config = Config(retries={"mode": "standard", "total_max_attempts": 5}, response_checksum_validation="when_required")
    try:
        package(read_settings(os.environ), boto3.client("s3", config=config), folder=Path.cwd(), say=_say)
    except (ValueError, OSError, BotoCoreError) as error:
        _say(f"packaging refused: {error}")
        return 1
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
