"""The process that stands for a container: this checkout's adapter, with the container's environment and no more."""

from __future__ import annotations

import os
import platform
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from local_cloud import paths

COMMAND_VARIABLE = "LOCAL_CLOUD_ADAPTER"
ENGINE_VARIABLE = "LOCAL_CLOUD_ENGINE_DIR"

_CHECKOUT = Path(__file__).parents[2]
_SYSTEMS = {"Linux": "linux", "Darwin": "mac"}
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "arm64": "arm64", "aarch64": "arm64"}


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


def engine_folder() -> Path | None:
    """Where libllama lies on this machine: `LOCAL_CLOUD_ENGINE_DIR`, else in the checkout's `node_modules`.

    None if neither is there: the adapter itself then says where it looked.
    """
    if named := os.environ.get(ENGINE_VARIABLE):
        return Path(named).absolute()
    system = _SYSTEMS.get(platform.system(), platform.system().lower())
    architecture = _ARCHITECTURES.get(platform.machine().lower(), platform.machine().lower())
    # `linux-x64`, `mac-arm64-metal`; builds for a GPU tool kit, as `linux-x64-cuda`, sort behind the plain one.
    found = sorted((_CHECKOUT / "node_modules" / "@node-llama-cpp").glob(f"{system}-{architecture}*/bins/*"))
    return found[0] if found else None
