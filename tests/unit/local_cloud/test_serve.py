"""`make serve` says what is wrong with MODEL and PORT in their own words."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from local_cloud.serve import main, model_problem, port_problem


@pytest.mark.parametrize("name", ["missing.gguf", "README.md", "."])
def test_what_is_no_gguf_file_is_refused_by_its_own_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").touch()

    problem = model_problem(tmp_path / name)

    assert problem is not None
    assert str(tmp_path / name) in problem
    assert "MODEL=" in problem


@pytest.mark.parametrize("port", ["abc", "65536", "-1", "８０８０"])
def test_what_is_no_port_is_refused(port: str) -> None:
    problem = port_problem(port)

    assert problem is not None
    assert "PORT=" in problem


def test_a_taken_port_is_refused_before_the_model_loads(tmp_path: Path) -> None:
    model = tmp_path / "m.gguf"
    model.touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])

        with pytest.raises(SystemExit, match=rf"Port {port} .*make serve PORT="):
            main(["--model", str(model), "--port", port, "--home", str(tmp_path)])
