"""Commands that README and docs show exist: targets of make, modules, and commands of ours with their options."""

from __future__ import annotations

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
import typer

from decision_client.cli import app

ROOT = Path(__file__).resolve().parents[3]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(ROOT / "docs").rglob("*.md"),
    *(ROOT / "examples").rglob("*.md"),
]
TEXT = "\n".join(page.read_text() for page in PAGES)
# Within a fenced block or between backticks, up to a comment.
SHOWN = {
    line.partition("  #")[0].strip()
    for line in [*re.findall(r"`([^`\n]+)`", TEXT), *re.findall(r"^ {0,4}([^\n`|]+)$", TEXT, re.MULTILINE)]
}
DECISIONS = sorted(
    shown for shown in SHOWN if re.match(r"(\.venv/bin/)?decisions [a-z]+\b", shown) and "|" not in shown
)
MAKE = sorted({target for shown in SHOWN for target in re.findall(r"^make ([a-z-]+)(?: [A-Z]+=\S*)*$", shown)})
MODULES = sorted({module for shown in SHOWN for module in re.findall(r"\bpython3? -m ([a-z_.]+)", shown)})


@pytest.mark.parametrize("command", DECISIONS)
def test_a_command_of_ours_that_is_shown_exists_with_its_options(command: str) -> None:
    name, *arguments = shlex.split(command)[1:]
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a group
    assert name in commands

    options = {option for parameter in commands[name].params for option in parameter.opts} | {"--help"}
    assert {argument.partition("=")[0] for argument in arguments if argument.startswith("--")} <= options


@pytest.mark.parametrize("target", MAKE)
def test_a_target_of_make_that_is_shown_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_that_is_shown_exists(module: str) -> None:
    assert find_spec(module)
