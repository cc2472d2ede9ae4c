"""mypy reads the modules of the CDK that the code imports: of one it skipped, nothing would be checked."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from gate.types import SOURCES

ROOT = Path(__file__).resolve().parents[3]


def _imported() -> Iterator[str]:
    for source in SOURCES:
        top = ROOT / source
        for path in [top] if top.is_file() else sorted(top.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Import):
                    yield from (alias.name for alias in node.names)
                elif isinstance(node, ast.ImportFrom) and node.module:
                    yield node.module
                    if node.module == "aws_cdk":
                        yield from (f"aws_cdk.{alias.name}" for alias in node.names if alias.name.islower())


def test_every_module_of_the_cdk_that_is_imported_is_type_checked() -> None:
    overrides = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    (read,) = (entry["module"] for entry in overrides if entry.get("follow_imports") == "normal")
    imported = {name for name in _imported() if name == "aws_cdk" or name.startswith("aws_cdk.")}

    assert imported - set(read) == set()
