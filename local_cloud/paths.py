"""Where the local cloud keeps its files: everything it or its children write lies under one home directory.

Only for code that runs inside the emulator (or below it), where `LOCAL_CLOUD_HOME` is set.
"""

from __future__ import annotations

import os
from pathlib import Path

HOME_VARIABLE = "LOCAL_CLOUD_HOME"


def home() -> Path:
    """The home directory of the running local cloud, absolute.

    Raises
    ------
    RuntimeError
        Outside an emulator process.
    """
    value = os.environ.get(HOME_VARIABLE)
    if not value:
        raise RuntimeError(
            f"{HOME_VARIABLE} is not set: the local cloud's modules run inside `python -m local_cloud.emulator`,"
            " which `python -m local_cloud up` starts"
        )
    return Path(value).absolute()


def builds() -> Path:
    """One folder per build, holding its `build.log`."""
    return _made(home() / "builds")


def endpoints() -> Path:
    """One folder per endpoint, holding a log per instance."""
    return _made(home() / "endpoints")


def models() -> Path:
    """What hosted instances downloaded: each stands for one container's `/opt/ml/model`."""
    return _made(home() / "models")


def temporary() -> Path:
    """`TMPDIR` of the emulator and of everything it starts."""
    return _made(home() / "tmp")


def _made(path: Path) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    return path
