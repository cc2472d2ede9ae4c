"""How many threads may evaluate at once: as many as this process really gets processors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
MEMBERSHIP = Path("/proc/self/cgroup")


def usable_threads(*, cgroup_root: Path = CGROUP_ROOT, membership: Path = MEMBERSHIP) -> int:
    """The smaller of the processors this process may run on and the whole processors of its CPU quota, at least 1.

    Threads beyond a container's quota do not add speed: the kernel stops all of them for the rest of each period.

    Parameters
    ----------
    cgroup_root:
        Where control groups are mounted. Default: /sys/fs/cgroup.
    membership:
        The file that names this process's groups. Default: /proc/self/cgroup.

    Source: Linux kernel documentation, "Control Group v2", `cpu.max`, and "CFS Bandwidth Control", `cpu.cfs_quota_us`.
    """
    quotas = [*_quotas(cgroup_root, membership)]
    return max(1, min([_affinity(), *(int(quota) for quota in quotas)]))


def _affinity() -> int:
    # macOS has no affinity.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _quotas(root: Path, membership: Path) -> Iterator[float]:
    """Processors allowed by each group this process is in, and by the groups around it; the tightest one holds."""
    for folder in _folders(root, membership):
        limit = _words(folder / "cpu.max")
        if len(limit) == 2 and limit[0] != "max":
            yield from _ratio(*limit)
        quota, period = _words(folder / "cpu.cfs_quota_us"), _words(folder / "cpu.cfs_period_us")
        if len(quota) == len(period) == 1:
            yield from _ratio(quota[0], period[0])


def _folders(root: Path, membership: Path) -> Iterator[Path]:
    # Inside a container the mount usually begins at its own group: the root exists then, the paths below do not.
    bases = [root, *(root / name for name in ("cpu", "cpu,cpuacct", "cpuacct,cpu"))]
    paths = {Path()}
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        lines = []
    for line in lines:
        group = Path(line.rpartition(":")[2].lstrip("/"))
        if ".." not in group.parts:
            paths.update([group, *group.parents])
    for base in bases:
        for path in sorted(paths):
            yield base / path


def _words(path: Path) -> list[str]:
    try:
        return path.read_text().split()
    except OSError:
        return []


def _ratio(quota: str, period: str) -> Iterator[float]:
    try:
        allowed, every = int(quota), int(period)
    except ValueError:
        return
    # A quota of -1 is none.
    if allowed > 0 and every > 0:
        yield allowed / every
