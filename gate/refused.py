"""How a part of the gate says no."""

from __future__ import annotations

import sys
from collections.abc import Iterable


def report(problems: Iterable[str], *, passed: str) -> int:
    """Print each problem on a line, or the one sentence that says what was found in order; the exit status."""
    lines = list(problems)
    if not lines:
        sys.stdout.write(f"{passed}\n")
        return 0
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.write(f"{len(lines)} to correct.\n")
    return 1
