"""Where llama.cpp's libllama lies on this machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path

_PACKAGES = Path(__file__).resolve().parent.parent / "node_modules" / "@node-llama-cpp"
_SYSTEMS = {"Linux": "linux", "Darwin": "mac"}
_ARCHITECTURES = {"x86_64": "x64", "amd64": "x64", "arm64": "arm64", "aarch64": "arm64"}


def engine_folder() -> Path | None:
    """The folder that `DECISION_ENGINE_DIR` names, else the one in the checkout's `node_modules`.

    None if neither is there: the adapter itself says where it looked.
    """
    if named := os.environ.get("DECISION_ENGINE_DIR"):
        return Path(named).absolute()
    system = _SYSTEMS.get(platform.system(), platform.system().lower())
    architecture = _ARCHITECTURES.get(platform.machine().lower(), platform.machine().lower())
    # `linux-x64`, `mac-arm64-metal`; builds for a GPU tool kit, as `linux-x64-cuda`, sort behind the plain one.
    found = sorted(_PACKAGES.glob(f"{system}-{architecture}*/bins/*/libllama.*"))
    return found[0].parent if found else None
