"""The `docker` that a privileged build finds first: a stand-in, for the local cloud has none."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[2]


def docker_folder(home: Path) -> Path:
    """Make a folder for the build's search path that holds `docker` and nothing else."""
    folder = home / "bin"
    folder.mkdir()
    program = folder / "docker"
    # -P: a Docker context may hold packages of any name, and it is the working directory.
    program.write_text(
        "#!/bin/sh\n"
        f"PYTHONPATH={shlex.quote(str(_CHECKOUT))} exec {shlex.quote(sys.executable)} -P"
        ' -m local_cloud.docker_stand_in "$@"\n'
    )
    program.chmod(0o755)
    return folder
