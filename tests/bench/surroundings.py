"""Where and when something was measured: without it no figure can be compared with another."""

from __future__ import annotations

import datetime
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "bench" / "results"


def surroundings(*packages: str, **more: str) -> dict[str, str]:
    """Date, commit, machine and the versions of what took part."""
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": _commit(),
        "machine": _machine(),
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        **{package: _version(package) for package in packages},
        **more,
    }


def usable_cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def load_average() -> str:
    """What else the machine was doing in the last minute."""
    return f"{os.getloadavg()[0]:.1f}"


def node_version() -> str:
    """Of the node that jsii starts."""
    return _output("node", "--version") or "unknown"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _commit() -> str:
    commit = _output("git", "rev-parse", "--short=12", "HEAD")
    if not commit:
        return "unknown"
    return f"{commit} with changes" if _output("git", "status", "--porcelain", "--untracked-files=no") else commit


def _machine() -> str:
    cores = usable_cores()
    return f"{_processor()}, {cores} core{'s' * (cores != 1)}, {_memory()} GiB"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _memory() -> str:
    return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f}"


def _output(*command: str) -> str:
    program = shutil.which(command[0])
    if program is None:
        return ""
    done = subprocess.run([program, *command[1:]], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def as_list(facts: dict[str, str]) -> Sequence[str]:
    """One Markdown line for each."""
    return [f"- {name}: {value}" for name, value in facts.items()]
