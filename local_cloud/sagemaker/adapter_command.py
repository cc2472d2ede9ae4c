"""The process that stands for a container: its command line and its whole environment.

Two containers are known. AWS's own llama.cpp image answers chat and is configured by `SM_LLAMA_CPP_*`; the adapter's
image answers decisions and is configured by `DECISION_*`.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_cloud import paths
from local_cloud.chat_stand_in.settings import FOLDER, PREFIX
from local_cloud.engine_folder import engine_folder

COMMAND_VARIABLE = "LOCAL_CLOUD_ADAPTER"

_CHECKOUT = Path(__file__).resolve().parents[2]
_STOCK_REPOSITORY = "llama-cpp"


@dataclass(frozen=True)
class Command:
    """What to run, and with what environment and no more."""

    arguments: list[str]
    environment: dict[str, str]


def command_for(image: str, container: Mapping[str, str], *, model_folder: Path, port: int) -> Command:
    """The process for an image and its container's environment.

    Like a container with network isolation it has no AWS variables. What differs from a container, where the paths and
    the address are the image's own, is set last, so that a template that names them still runs here.
    """
    scratch = str(paths.temporary())
    base = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "HOME": scratch,
        "TMPDIR": scratch,
        "PYTHONUNBUFFERED": "1",
    }
    if is_stock_image(image, container):
        return _chat({**base, **container}, model_folder, port)
    return _adapter({**base, **container}, model_folder, port)


def is_stock_image(image: str, container: Mapping[str, str]) -> bool:
    """Whether it is AWS's llama.cpp image or a copy of it: the image's name or the container's settings say so.

    Examples
    --------
    >>> is_stock_image("763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:1f19c2", {})
    True
    >>> is_stock_image("123456789012.dkr.ecr.us-east-1.amazonaws.com/copy:1", {"SM_LLAMA_CPP_CTX_SIZE": "4096"})
    True
    >>> is_stock_image("123456789012.dkr.ecr.us-east-1.amazonaws.com/adapter:1", {"DECISION_THREADS": "2"})
    False
    """
    if any(name.startswith("DECISION_") for name in container):
        return False
    repository = image.partition("/")[2] or image
    return repository.startswith(_STOCK_REPOSITORY) or any(name.startswith(PREFIX) for name in container)


def _adapter(environment: dict[str, str], model_folder: Path, port: int) -> Command:
    """This checkout's adapter, or what `LOCAL_CLOUD_ADAPTER` (shell words) names in its place."""
    engine = engine_folder()
    return Command(
        shlex.split(os.environ.get(COMMAND_VARIABLE, "")) or [sys.executable, "-m", "decision_adapter"],
        {
            **environment,
            "DECISION_MODEL_DIR": str(model_folder),
            "DECISION_HOST": "127.0.0.1",
            "SAGEMAKER_BIND_TO_PORT": str(port),
            **({"DECISION_ENGINE_DIR": str(engine)} if engine is not None else {}),
        },
    )


def _chat(environment: dict[str, str], model_folder: Path, port: int) -> Command:
    """The stand-in for the stock image's `/usr/bin/serve`."""
    here = {
        name: str(model_folder / value.removeprefix(FOLDER).lstrip("/"))
        for name, value in environment.items()
        if name.startswith(PREFIX) and (value == FOLDER or value.startswith(f"{FOLDER}/"))
    }
    return Command(
        [sys.executable, "-m", "local_cloud.chat_stand_in"],
        {
            **environment,
            f"{PREFIX}MODEL_DIR": str(model_folder),
            **here,
            "PYTHONPATH": str(_CHECKOUT),
            "SAGEMAKER_BIND_TO_PORT": str(port),
        },
    )
