"""Starting, finding and stopping a local cloud leaves exactly what it should."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_cloud import __main__ as command_line
from local_cloud.lifecycle import LocalCloudError, start, stop
from local_cloud.marks import marked_processes
from local_cloud.running_cloud import RunningCloud
from tests.support.aws_clients import clients_of
from tests.support.waiting import eventually


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "home"
    stop(tmp_path / "home")


def test_two_starts_at_once_find_the_same_cloud(home: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        first, second = both.map(start, [home, home])

    assert first == second
    assert marked_processes(first.mark) == {first.pid}


def test_a_stopped_cloud_leaves_no_process_and_only_its_logs(home: Path) -> None:
    cloud = start(home)

    assert stop(home) is True
    assert stop(home) is False
    assert RunningCloud.find(home) is None
    assert not marked_processes(cloud.mark)
    assert sorted(path.name for path in home.iterdir()) == ["emulator.log", "lock"]


def test_stopping_takes_what_a_killed_emulator_left_behind(home: Path) -> None:
    cloud = start(home)
    with clients_of(cloud) as client:
        client("codebuild").create_project(
            name="lasting",
            source={"type": "NO_SOURCE", "buildspec": "version: 0.2\nphases: {build: {commands: [setsid sleep 300]}}"},
            artifacts={"type": "NO_ARTIFACTS"},
            serviceRole="arn:aws:iam::123456789012:role/build",
            environment={"type": "LINUX_CONTAINER", "image": "aws/x", "computeType": "BUILD_GENERAL1_SMALL"},
        )
        client("codebuild").start_build(projectName="lasting")
        emulator = {cloud.pid}
        eventually(lambda: len(marked_processes(cloud.mark) - emulator) >= 2, "the build's shell and its command")
    os.kill(cloud.pid, signal.SIGKILL)
    eventually(lambda: RunningCloud.find(home) is None, "the emulator's end")

    assert stop(home) is True
    assert not marked_processes(cloud.mark)


def test_a_stale_record_of_somebody_elses_process_is_not_believed(cloud: RunningCloud, home: Path) -> None:
    record = json.loads((cloud.home / "cloud.json").read_text())
    home.mkdir()
    (home / "cloud.json").write_text(json.dumps({**record, "pid": os.getpid(), "mark": "of an earlier start"}))

    assert RunningCloud.find(home) is None
    assert stop(home) is False


@pytest.mark.parametrize("content", ["", "{", "[]", '{"pid": "x"}'])
def test_a_broken_record_counts_as_none(home: Path, content: str) -> None:
    home.mkdir()
    (home / "cloud.json").write_text(content)

    assert RunningCloud.find(home) is None


def test_a_port_that_is_taken_is_named(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(LocalCloudError, match=f"port {port} of 127.0.0.1 is taken by another process: stop it, "):
            start(home, port=port)


def test_another_port_for_a_running_cloud_is_refused(cloud: RunningCloud) -> None:
    with pytest.raises(LocalCloudError, match=f"already runs for .*, on port {cloud.port}: use that one"):
        start(cloud.home, port=cloud.port + 1)


def test_an_emulator_that_cannot_start_says_why_and_where_to_read_on(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(LocalCloudError, match=r"ended while starting; the whole log is .*emulator\.log"):
        start(home)


def test_it_listens_on_loopback_only(cloud: RunningCloud) -> None:
    listening = {
        address for address in _own_addresses() if not address.startswith("127.") and _accepts(address, cloud.port)
    }

    assert listening == set()


def _own_addresses() -> set[str]:
    return {str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None, family=socket.AF_INET)}


def _accepts(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=1).close()
    except OSError:
        return False
    return True


def test_everything_it_writes_is_under_its_home(cloud: RunningCloud) -> None:
    environment = Path(f"/proc/{cloud.pid}/environ")
    if not environment.exists():
        pytest.skip("needs /proc")

    temporary = [entry for entry in environment.read_text().split("\0") if entry.startswith(("TMPDIR=", "HOME="))]

    scratch = cloud.home / "tmp"
    assert temporary == [f"HOME={scratch}", f"TMPDIR={scratch}"]


def test_the_command_line_finds_what_runs(cloud: RunningCloud, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["up", "--home", str(cloud.home)]) == 0
    assert command_line.main(["status", "--home", str(cloud.home)]) == 0
    assert capsys.readouterr().out.count(f"runs at {cloud.endpoint_url}") == 2


def test_the_command_line_says_when_nothing_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["status", "--home", str(tmp_path)]) == 1
    assert command_line.main(["down", "--home", str(tmp_path)]) == 0
    assert "No local cloud was running." in capsys.readouterr().out
