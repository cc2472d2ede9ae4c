"""mypy, strict, over everything: ``python -m gate.types``.

The Lambda functions come one at a time: each has a `handler`, which is a top-level module where it runs, and mypy
knows only one module of a name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SOURCES = (
    "constructs",
    "adapter_image",
    "client",
    "provenance",
    "stacks",
    "local_cloud",
    "gate",
    "docs",
    "examples",
    "app.py",
    "tests",
)
# What every function's archive gets beside its own folder.
SHARED = "lambda/shared"


def main() -> int:
    """Check the packages together, then each Lambda function; the status of the first that fails."""
    status = _mypy(SOURCES)
    for folder in sorted(path for path in Path("lambda").iterdir() if any(path.glob("*.py"))):
        if status == 0:
            status = _mypy([str(folder)], MYPYPATH=os.pathsep.join((str(folder), SHARED)))
    return status


def _mypy(paths: list[str] | tuple[str, ...], **environment: str) -> int:
    return subprocess.run([sys.executable, "-m", "mypy", *paths], env=os.environ | environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
