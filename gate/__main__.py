"""The whole gate: ``python -m gate``, which is what `make check` runs."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from .parts import all_parts
from .runner import run_all

# Credentials, accounts and settings of AWS and of the CDK: with them a check could pass here and fail elsewhere.
_NOT_PASSED_ON = ("AWS_", "BOTO_", "CDK_DEFAULT_", "CDK_CONTEXT", "CDK_OUTDIR", "CDK_DEBUG", "PYTHON")


def quiet_environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of every part: without credentials, and with a home in which no file of AWS lies."""
    home = Path(".cache/home").absolute()
    home.mkdir(parents=True, exist_ok=True)
    kept = {name: value for name, value in given.items() if not name.startswith(_NOT_PASSED_ON)}
    return kept | {"HOME": str(home), "AWS_EC2_METADATA_DISABLED": "true"}


def main() -> int:
    """Run every part; 0 if all passed."""
    started = time.monotonic()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # One more than there are cores: tests wait now and then.
    outcomes = run_all(all_parts(), side_by_side=cores + 1, environment=quiet_environment(os.environ), out=sys.stdout)
    cpu = sum(outcome.cpu for outcome in outcomes)
    sys.stdout.write(f"{time.monotonic() - started:.0f} s, {cpu:.0f} CPU s.\n")
    failed = [outcome.part for outcome in outcomes if outcome.status not in (0, None)]
    if not failed:
        sys.stdout.write("The gate is open: every check passed.\n")
        return 0
    alone = " ".join(("python", *failed[0].command[1:]))
    sys.stdout.write(f"The gate is shut. First to fail: {failed[0].name} (again alone: {alone}).\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
