"""What is missing is said first, in one sentence, with how to get it."""

from __future__ import annotations

import hashlib
import re
import shutil
import socket
import subprocess
import sys
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from local_cloud.demo import preflight
from local_cloud.demo.__main__ import main
from local_cloud.demo.checkout import ROOT, SAMPLE_MODEL, SAMPLE_MODEL_SHA256
from local_cloud.running_cloud import RunningCloud, write_record

Usage = namedtuple("Usage", "total used free")


@pytest.fixture
def node_that_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts a `node` on the path, and nothing else, that answers --version."""

    def put(version: str) -> None:
        node = tmp_path / "node"
        node.write_text(f"#!/bin/sh\necho {version}\n")
        node.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path))

    return put


def test_a_machine_without_node_is_told_where_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert preflight.node_problem() == (
        "Node.js is missing: install Node.js 22 or newer with npm (https://nodejs.org); 20 is the least that works."
    )


@pytest.mark.parametrize("version", ["v20.0.0", "v22.11.0", "v24.1.0"])
def test_every_supported_node_will_do(node_that_says: Callable[[str], None], version: str) -> None:
    node_that_says(version)

    assert preflight.node_problem() is None


def test_an_old_node_is_named(node_that_says: Callable[[str], None]) -> None:
    node_that_says("v18.19.1")

    assert (preflight.node_problem() or "").startswith("Node.js v18.19.1 is too old: install Node.js 22")


def test_something_else_called_node_is_no_node(node_that_says: Callable[[str], None]) -> None:
    node_that_says("packet radio")

    assert "does not say which Node.js it is" in (preflight.node_problem() or "")


@pytest.mark.parametrize(("version", "too_old"), [((3, 9), True), ((3, 10), True), ((3, 11), False), ((3, 14), False)])
def test_python_from_3_11_on_will_do(version: tuple[int, int], too_old: bool) -> None:
    assert (preflight.python_problem(version) is not None) is too_old


def test_a_full_disk_says_how_much_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**12, 10**12 - 500_000_000, 500_000_000))

    assert re.search(r"has 0\.5 GB free and \d GB are needed", preflight.disk_problem() or "")


def test_a_taken_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        assert preflight.port_problem(port, tmp_path) == (
            f"Port {port} of 127.0.0.1 is taken: give another with `make demo PORT=…`, "
            "or leave PORT out to take a free one."
        )


def test_the_port_of_the_running_local_cloud_is_not_in_the_way(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as cloud:
        port = cloud.getsockname()[1]
        write_record(RunningCloud(home=tmp_path, pid=1, port=port, mark="none"))

        assert preflight.port_problem(port, tmp_path) is None


@pytest.mark.parametrize("port", [70_000, -1, 80])
def test_a_port_that_is_none_is_refused(tmp_path: Path, port: int) -> None:
    assert "cannot be used" in (preflight.port_problem(port, tmp_path) or "")


def test_no_port_asked_for_is_never_a_problem(tmp_path: Path) -> None:
    assert preflight.port_problem(0, tmp_path) is None


def test_a_missing_sample_model_says_how_to_fetch_it(tmp_path: Path) -> None:
    assert "make sample-model" in (preflight.sample_model_problem(tmp_path / "none.gguf", "ab" * 32) or "")


def test_another_sample_model_is_refused_with_both_digests(tmp_path: Path) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")

    problem = preflight.sample_model_problem(tmp_path / "m.gguf", "ab" * 32) or ""

    assert f"has SHA-256 {hashlib.sha256(b'GGUF').hexdigest()}, " in problem
    assert f"the pin says {'ab' * 32}" in problem


def test_the_pinned_model_is_the_one_that_the_local_environment_deploys() -> None:
    source = yaml.safe_load((ROOT / "environments" / "local.yaml").read_text())["model"]["source"]["local"]

    assert source["sha256"] == SAMPLE_MODEL_SHA256
    assert ROOT / source["path"] == SAMPLE_MODEL


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "_MODULES", ("json", "no_such_module"))

    (problem,) = preflight.packages_problems()

    assert "lacks no_such_module: run `make install`" in problem


def test_the_first_line_of_the_demo_is_the_problem(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    assert main(["up", "--home", str(tmp_path / "home")]) == 1

    assert capsys.readouterr().out.splitlines()[0].startswith("Node.js is missing")
    assert not (tmp_path / "home").exists()


def test_the_machine_can_be_checked_before_anything_is_installed() -> None:
    checked = subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import sys; sys.path.append('.'); import local_cloud.demo.preflight"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (checked.returncode, checked.stderr) == (0, "")
