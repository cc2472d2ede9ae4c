"""The process that stands for a container: this checkout's adapter, with the container's environment and no more."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from local_cloud import paths
from local_cloud.engine_folder import engine_folder

COMMAND_VARIABLE = "LOCAL_CLOUD_ADAPTER"


def command() -> list[str]:
    """The adapter's command line: `LOCAL_CLOUD_ADAPTER` (shell words). Default: `python -m decision_adapter`."""
    return shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or [sys.executable, "-m", "decision_adapter"]


def environment(container: Mapping[str, str], *, model_folder: Path, port: int) -> dict[str, str]:
    """The whole environment of an adapter process.

    Like a container with network isolation it has no AWS variables. What differs from a container, where the paths and
    the address are the image's own, is set last, so that a template that names them still runs here.
    """
    scratch = str(paths.temporary())
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": scratch,
        "TMPDIR": scratch,
        "PYTHONUNBUFFERED": "1",
        **container,
        "DECISION_MODEL_DIR": str(model_folder),
        "DECISION_HOST": "127.0.0.1",
        "SAGEMAKER_BIND_TO_PORT": str(port),
    }
    engine = engine_folder()
    if engine is not None:
        environment["DECISION_ENGINE_DIR"] = str(engine)
    return environment
