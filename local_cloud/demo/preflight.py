"""What must be there before the demo starts, each with how to get it.

`python3 -m local_cloud.demo.preflight` checks the machine alone, with any Python and before anything is installed.
"""

from __future__ import annotations

import argparse
import errno
import importlib.util
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

from local_cloud.demo.checkout import CDK, HOME, ROOT, SAMPLE_MODEL, SAMPLE_MODEL_SHA256, from_root
from local_cloud.running_cloud import read_record

_PYTHON = (3, 11)
_NODE = 20
_LOWEST_PORT, _HIGHEST_PORT = 1024, 65535
_GIGABYTE = 1_000_000_000
# Python packages 1.3 GB, Node packages 0.2 GB, their caches, and the model a few times over.
_BYTES_TO_INSTALL = 3 * _GIGABYTE
_BYTES_TO_RUN = 1 * _GIGABYTE
_MODULES = ("aws_cdk", "boto3", "decision_adapter", "decision_client", "decision_provenance", "ministack", "rich")


def machine_problems(port: int = 0) -> list[str]:
    """What this machine lacks: Python, Node, disk, and the port asked for (0: none in particular)."""
    problems = [python_problem(sys.version_info[:2]), node_problem(), disk_problem(), port_problem(port)]
    return [problem for problem in problems if problem]


def installation_problems() -> list[str]:
    """What this checkout lacks: its packages and the sample model, byte for byte."""
    problems = [*packages_problems(), sample_model_problem()]
    return [problem for problem in problems if problem]


def python_problem(version: tuple[int, ...]) -> str | None:
    """Say so if Python is too old."""
    if version >= _PYTHON:
        return None
    return (
        f"Python {version[0]}.{version[1]} is too old: install Python {_PYTHON[0]}.{_PYTHON[1]} or newer "
        "(https://www.python.org/downloads), or name one with `make demo PYTHON=…`."
    )


def node_problem() -> str | None:
    """Say so if there is no Node.js, or an old one."""
    node = shutil.which("node")
    how = "install Node.js 22 or newer with npm (https://nodejs.org); 20 is the least that works."
    if node is None:
        return f"Node.js is missing: {how}"
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"Node.js at {node} does not run ({error}): {how}"
    version = re.match(r"v(\d+)\.", said)
    if version is None:
        return f"{node} does not say which Node.js it is: {how}"
    if int(version[1]) < _NODE:
        return f"Node.js {said.strip()} is too old: {how}"
    return None


def disk_problem() -> str | None:
    """Say so if the disk of the checkout is nearly full."""
    installed = (ROOT / ".venv").is_dir() and CDK.exists()
    needed = _BYTES_TO_RUN if installed else _BYTES_TO_INSTALL
    free = shutil.disk_usage(ROOT).free
    if free >= needed:
        return None
    return (
        f"The disk of {ROOT} has {free / _GIGABYTE:.1f} GB free and {needed / _GIGABYTE:.0f} GB are needed: "
        "free some, or move the checkout to another disk."
    )


def port_problem(port: int, home: Path = HOME) -> str | None:
    """Say so if the port cannot be had; that of the local cloud itself, which may be running, can."""
    cloud = read_record(home)
    if port == 0 or (cloud is not None and port == cloud.port):
        return None
    how = "give another with `make demo PORT=…`, or leave PORT out to take a free one."
    if not _LOWEST_PORT <= port <= _HIGHEST_PORT:
        return f"Port {port} cannot be used, those from {_LOWEST_PORT} to {_HIGHEST_PORT} can: {how}"
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            # As the local cloud itself binds: a port that is only waiting out its last connections is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            return f"Port {port} of 127.0.0.1 is taken: {how}"
        return f"Port {port} of 127.0.0.1 cannot be used ({error}): {how}"
    return None


def packages_problems() -> list[str]:
    """Say which packages are not installed."""
    problems = []
    missing = [module for module in _MODULES if importlib.util.find_spec(module) is None]
    if missing:
        problems.append(
            f"This Python ({sys.executable}) lacks {', '.join(missing)}: run `make install`, then `make demo`."
        )
    if not CDK.exists():
        problems.append(f"The CDK CLI is missing ({from_root(CDK)}): run `make install`, then `make demo`.")
    return problems


def sample_model_problem(model: Path = SAMPLE_MODEL, pin: str = SAMPLE_MODEL_SHA256) -> str | None:
    """Say so if the sample model is not there, or is not the pinned one."""
    # Not at the top: the packages may be what is missing.
    try:
        from decision_provenance.digest import hash_file
    except ImportError:
        return None
    if not model.is_file():
        return f"The sample model is missing ({from_root(model)}): run `make sample-model`, then `make demo`."
    found = hash_file(model).sha256
    if found == pin:
        return None
    return (
        f"{from_root(model)} has SHA-256 {found}, the pin says {pin}: "
        "delete .cache/sample-model, run `make sample-model`, then `make demo`."
    )


def main(arguments: list[str] | None = None) -> int:
    """Print what the machine lacks, a line each; exit code 1 if it lacks anything."""
    parser = argparse.ArgumentParser(prog="python3 -m local_cloud.demo.preflight", description=main.__doc__)
    parser.add_argument("--port", type=int, default=0, help="the port the demo shall use (default: a free one)")
    problems = machine_problems(parser.parse_args(arguments).port)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
