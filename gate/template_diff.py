"""What a deploy of this tree would do over the base branch: ``python -m gate.template_diff [--base REF]``.

Markdown on standard output and, where GITHUB_STEP_SUMMARY names a file, in it. It fails if a stateful resource would
be deleted or replaced and the pull request does not say so: a line ``Deletes: STACK/LOGICAL-ID`` or
``Replaces: STACK/LOGICAL-ID`` in its description (PULL_REQUEST_TEXT) or in a commit message of it.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from .assembly import Template, local_environments, read_templates
from .base import Base, BaseRefused, NoBase, find_base, messages_since, synthesize
from .changes import changes
from .markdown import render, undeclared_losses

_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_DECLARATION = re.compile(r"^(?:Deletes|Replaces|Not-compared): \S+$")


def declarations(*texts: str) -> list[str]:
    """The lines of a pull request's description and commit messages that say what it means to lose."""
    # What is in an HTML comment, no reviewer sees.
    lines = [line.strip() for text in texts for line in _HIDDEN.sub("", text).splitlines()]
    return [line for line in lines if _DECLARATION.match(line)]


def main(arguments: list[str] | None = None) -> int:
    """Compare, and say it."""
    parser = argparse.ArgumentParser(prog="python -m gate.template_diff", description=__doc__)
    parser.add_argument("--base", help="a commit or branch; by default main, and on main itself the previous commit")
    parser.add_argument("--head", type=Path, help="where this tree is synthesized already; by default it is now")
    options = parser.parse_args(arguments)
    root = Path.cwd()
    try:
        base = find_base(root, options.base)
    except NoBase as nothing:
        return _say(f"{nothing}\n", 0)
    except BaseRefused as refused:
        return _say(f"{refused}\n", 1)
    declared = declarations(os.environ.get("PULL_REQUEST_TEXT", ""), messages_since(root, base))
    with tempfile.TemporaryDirectory(prefix="gate-") as scratch:
        try:
            before = _deployed(synthesize(root, base, Path(scratch)), Path(scratch) / "checkout")
        except BaseRefused as refused:
            return _say(f"{refused}\n", 0 if f"Not-compared: {base.commit[:12]}" in declared else 1)
        after = _deployed(options.head or _synthesize_here(Path(scratch) / "head"), root)
        found = changes(before, after)
    return _say(render(found, against=_name(base), declared=declared), 1 if undeclared_losses(found, declared) else 0)


def _deployed(assembly: Path, checkout: Path) -> list[Template]:
    """The templates that go to AWS; the local cloud's are gone with `make down`."""
    local = local_environments(checkout)
    return [template for template in read_templates(assembly) if template.environment not in local]


def _synthesize_here(out: Path) -> Path:
    subprocess.run([sys.executable, "-m", "gate.synth", str(out)], check=True, stdout=subprocess.DEVNULL)
    return out


def _name(base: Base) -> str:
    return f"{base.meaning} ({base.commit[:12]})"


def _say(text: str, status: int) -> int:
    sys.stdout.write(text)
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(text)
    return status


if __name__ == "__main__":
    sys.exit(main())
