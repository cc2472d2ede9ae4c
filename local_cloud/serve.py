"""`make serve`: only the adapter, on loopback, for curl and for other people's clients."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from local_cloud.engine_folder import engine_folder


def main(arguments: list[str] | None = None) -> None:
    """Become the adapter: `--model FILE.gguf` (or a folder) is served on 127.0.0.1 at `--port` (0 takes a free one)."""
    parser = argparse.ArgumentParser(prog="python -m local_cloud.serve", description=main.__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--port", default="8080")
    parser.add_argument("--home", type=Path, default=Path(".local-cloud"))
    options = parser.parse_args(arguments)
    model: Path = options.model.absolute()
    if not model.exists():
        sys.exit(f"{options.model} does not exist: give MODEL=path/to/model.gguf, or run `make sample-model`.")
    engine = engine_folder()
    environment = {
        **os.environ,
        "DECISION_MODEL_DIR": str(model if model.is_dir() else _folder_of(model, options.home.absolute() / "serve")),
        "DECISION_HOST": "127.0.0.1",
        "SAGEMAKER_BIND_TO_PORT": options.port,
        **({"DECISION_ENGINE_DIR": str(engine)} if engine else {}),
    }
    os.execve(sys.executable, [sys.executable, "-m", "decision_adapter"], environment)  # noqa: S606  no shell wanted


def _folder_of(model: Path, folder: Path) -> Path:
    """The adapter serves the one model of a folder; a single file gets a folder with a link to it and its shards."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    stem, split, _ = model.name.rpartition("-00001-of-")
    for file in model.parent.glob(f"{stem}-*-of-*.gguf") if split else [model]:
        (folder / file.name).symlink_to(file)
    return folder


if __name__ == "__main__":
    main()
