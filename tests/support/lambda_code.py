"""Loads the code of a custom resource as Lambda does: its folder first on the path, its modules at the top level."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

LAMBDA_ROOT = Path(__file__).parents[2] / "lambda"


@contextmanager
def lambda_module(function: str, name: str) -> Iterator[ModuleType]:
    """One module of `lambda/<function>/`; two functions may have modules of the same name, so none stays loaded."""
    folders = [LAMBDA_ROOT / function, LAMBDA_ROOT / "shared"]
    own = {path.stem for folder in folders for path in folder.glob("*.py")}
    before = {module: sys.modules.pop(module) for module in own if module in sys.modules}
    sys.path[:0] = map(str, folders)
    try:
        yield importlib.import_module(name)
    finally:
        for folder in folders:
            sys.path.remove(str(folder))
        for module in own:
            sys.modules.pop(module, None)
        sys.modules.update(before)
