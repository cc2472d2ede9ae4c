"""As many threads as there are processors for them, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from decision_adapter import threads


@pytest.fixture(autouse=True)
def sixteen_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_affinity", lambda: 16)


def usable(root: Path, membership: str = "") -> int:
    (root / "membership").write_text(membership)
    return threads.usable_threads(cgroup_root=root, membership=root / "membership")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize(
    ("cpu_max", "expected"),
    [
        ("765000 100000", 7),
        ("50000 100000", 1),
        ("max 100000", 16),
        ("6400000 100000", 16),
        ("", 16),
        ("nonsense here", 16),
    ],
)
def test_a_quota_of_control_groups_2_is_rounded_down_to_whole_processors(
    tmp_path: Path, cpu_max: str, expected: int
) -> None:
    write(tmp_path / "cpu.max", cpu_max + "\n")

    assert usable(tmp_path) == expected


@pytest.mark.parametrize(("quota", "expected"), [("-1", 16), ("350000", 3), ("0", 16)])
def test_a_quota_of_control_groups_1_counts_and_minus_one_is_none(tmp_path: Path, quota: str, expected: int) -> None:
    write(tmp_path / "cpu,cpuacct/cpu.cfs_quota_us", quota)
    write(tmp_path / "cpu,cpuacct/cpu.cfs_period_us", "100000")

    assert usable(tmp_path) == expected


def test_without_control_groups_affinity_alone_decides(tmp_path: Path) -> None:
    assert threads.usable_threads(cgroup_root=tmp_path / "none", membership=tmp_path / "none") == 16


def test_the_tightest_group_around_the_process_decides(tmp_path: Path) -> None:
    write(tmp_path / "pods/cpu.max", "400000 100000")
    write(tmp_path / "pods/pod1/cpu.max", "max 100000")
    write(tmp_path / "other/cpu.max", "100000 100000")

    assert usable(tmp_path, "0::/pods/pod1\n") == 4


def test_a_group_outside_the_mount_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "outside/cpu.max", "100000 100000")
    (tmp_path / "mount").mkdir()

    assert usable(tmp_path / "mount", "0::/../outside\n") == 16


def test_this_process_gets_at_least_one_thread() -> None:
    assert threads.usable_threads() >= 1
