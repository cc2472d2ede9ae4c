"""`make serve`: only the adapter, on loopback, for curl and for other people's clients."""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import sys
from pathlib import Path

from local_cloud.engine_folder import engine_folder

_HIGHEST_PORT = 65535


def main(arguments: list[str] | None = None) -> None:
    """Become the adapter: the model in `--model FILE.gguf` is served on 127.0.0.1 at `--port` (0 takes a free one)."""
    parser = argparse.ArgumentParser(prog="python -m local_cloud.serve", description=main.__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--port", default="8080")
    parser.add_argument("--home", type=Path, default=Path(".local-cloud"))
    options = parser.parse_args(arguments)
    problem = model_problem(options.model) or port_problem(options.port)
    if problem:
        sys.exit(problem)
    engine = engine_folder()
    environment = {
        **os.environ,
        "DECISION_MODEL_DIR": str(_folder_of(options.model.absolute(), options.home / f"serve-{options.port}")),
        "DECISION_HOST": "127.0.0.1",
        "SAGEMAKER_BIND_TO_PORT": options.port,
        **({"DECISION_ENGINE_DIR": str(engine)} if engine else {}),
    }
    print(
        f"Serving {options.model.name} on http://127.0.0.1:{options.port} as soon as it says `ready`; "
        "docs/adapter.md shows how to ask. Ctrl-C stops it.",
        flush=True,
    )
    os.execve(sys.executable, [sys.executable, "-m", "decision_adapter"], environment)  # noqa: S606  no shell wanted


def model_problem(model: Path) -> str | None:
    """Say so if there is no such GGUF file."""
    how = "give MODEL=path/to/model.gguf, or leave MODEL out for the sample model."
    if not model.is_file():
        return f"{model} is not a file: {how}"
    return None if model.suffix == ".gguf" else f"{model} is not a .gguf file: {how}"


def port_problem(port: str) -> str | None:
    """Say so if the port is none, or is taken."""
    how = "give another with `make serve PORT=…`."
    if not (port.isascii() and port.isdecimal() and int(port) <= _HIGHEST_PORT):
        return f"Port {port!r} is not a number from 0 to {_HIGHEST_PORT}: {how}"
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", int(port)))
        except OSError as error:
            return f"Port {port} of 127.0.0.1 cannot be used ({error.strerror}): {how}"
    return None


def _folder_of(model: Path, folder: Path) -> Path:
    """The adapter serves the one model of a folder: a new one, with links to the file and to its shards."""
    folder = folder.absolute()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stem, split, _ = model.name.rpartition("-00001-of-")
    for file in model.parent.glob(f"{stem}-*-of-*.gguf") if split else [model]:
        (folder / file.name).symlink_to(file)
    return folder


if __name__ == "__main__":
    main()
