"""What the container makes of its environment: the model to serve, and llama-server's command line.

Source: AWS Deep Learning Containers, llama.cpp for SageMaker AI.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from local_cloud.chat_stand_in.options import Argument

PREFIX = "SM_LLAMA_CPP_"
FOLDER = "/opt/ml/model"
"""Where a container has its model."""

_FOLDER_VARIABLE = f"{PREFIX}MODEL_DIR"
_MODEL_VARIABLE = f"{PREFIX}MODEL"


def arguments(environment: Mapping[str, str]) -> list[Argument]:
    """The command line: `SM_LLAMA_CPP_FOO_BAR=v` is `--foo-bar v`, `true` a bare flag, and `false` nothing at all.

    Examples
    --------
    >>> [str(each) for each in arguments({"SM_LLAMA_CPP_CTX_SIZE": "512", "SM_LLAMA_CPP_METRICS": "true"})]
    ['--ctx-size 512', '--metrics']
    """
    model = _model(environment)
    found = [Argument("model", model)] if model else []
    for variable in sorted(environment):
        value = environment[variable]
        if variable.startswith(PREFIX) and variable not in (_FOLDER_VARIABLE, _MODEL_VARIABLE) and value != "false":
            option = variable.removeprefix(PREFIX).lower().replace("_", "-")
            found.append(Argument(option, None if value == "true" else value))
    return found


def _model(environment: Mapping[str, str]) -> str | None:
    """The model that is named, or the first by name in the folder or one level below."""
    if _MODEL_VARIABLE in environment:
        return environment[_MODEL_VARIABLE]
    folder = Path(environment.get(_FOLDER_VARIABLE, FOLDER))
    found = sorted(folder.glob("*.gguf")) or sorted(folder.glob("*/*.gguf"))
    return str(found[0]) if found else None
