"""How `down` knows which processes are its own: each start of the local cloud marks the environment of all it starts.

A process id in a file may belong to somebody else by the time it is read; an environment variable with a unique value
cannot, and it reaches grandchildren and what a Lambda or a build left behind.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

MARK_VARIABLE = "LOCAL_CLOUD_MARK"


def new_mark() -> str:
    """A mark that no process carries yet."""
    return uuid.uuid4().hex


def own_mark() -> dict[str, str]:
    """The mark of this process, as the variable for its children; empty where it has none."""
    value = os.environ.get(MARK_VARIABLE)
    return {MARK_VARIABLE: value} if value else {}


def marked_processes(mark: str) -> frozenset[int]:
    """The ids of the live processes that carry a mark; zombies do not count."""
    if sys.platform == "linux":
        candidates = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]
        return frozenset(pid for pid in candidates if carries(pid, mark))
    return frozenset(int(line.split(maxsplit=1)[0]) for line in _ps("-A") if f" {MARK_VARIABLE}={mark}" in line)


def carries(pid: int, mark: str) -> bool:
    """Whether a live process carries a mark."""
    if sys.platform == "linux":
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:  # gone, or somebody else's
            return False
        return f"{MARK_VARIABLE}={mark}".encode() in environment.split(b"\0")
    return any(f" {MARK_VARIABLE}={mark}" in line for line in _ps("-p", str(pid)))


def _ps(*selection: str) -> list[str]:
    """`pid command environment` of processes, one a line: BSD's ps shows the environment of one's own with -E."""
    listing = subprocess.run(
        ["/bin/ps", *selection, "-E", "-ww", "-o", "pid=,command="], capture_output=True, text=True, check=False
    )
    return listing.stdout.splitlines()
