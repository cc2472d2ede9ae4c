"""The commit that a change is compared with, and its templates, synthesized by its own code."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

# A branch of this name is what changes go to.
_TRUNKS = ("origin/main", "main")
_SOURCE_ROOTS = ("constructs", "provenance", "client", "adapter_image", ".")


class NoBase(Exception):
    """There is nothing to compare with, which is no fault: the sentence says why."""


class BaseRefused(Exception):
    """A base was named or found, but its templates cannot be had: the sentence says what to do."""


@dataclass(frozen=True, slots=True)
class Base:
    """A commit, and in words what it is."""

    commit: str
    meaning: str


def find_base(root: Path, named: str | None) -> Base:
    """The commit to compare the working tree at `root` with.

    Raises
    ------
    NoBase
        If none is named, and there is no commit before this one here.
    BaseRefused
        If the one that is named is not here.
    """
    if _git(root, "rev-parse", "--git-dir") is None:
        raise NoBase("This is no git checkout, so there is nothing to compare the templates with.")
    if named:
        commit = _git(root, "merge-base", named, "HEAD") or _git(root, "rev-parse", "--verify", f"{named}^{{commit}}")
        if commit is None:
            raise BaseRefused(f"{named} is no commit here: fetch it (`git fetch origin`), or name another with BASE=")
        return Base(commit, f"`{named}`")
    head = _git(root, "rev-parse", "HEAD")
    for trunk in _TRUNKS:
        fork = _git(root, "merge-base", trunk, "HEAD")
        if fork and fork != head:
            return Base(fork, f"`{trunk}`")
    if head and _git(root, "status", "--porcelain"):
        return Base(head, "the last commit")
    previous = _git(root, "rev-parse", "--verify", "HEAD^")
    if previous is None:
        raise NoBase("There is no commit before this one here (a shallow clone has one only): no template is compared.")
    return Base(previous, "the previous commit")


def messages_since(root: Path, base: Base) -> str:
    """What the commits after the base say."""
    return _git(root, "log", "--format=%B", f"{base.commit}..HEAD") or ""


def synthesize(root: Path, base: Base, folder: Path) -> Path:
    """Synthesize the base in `folder`, with its own code and the packages of this checkout; the assembly's folder.

    An archive of the commit, not a work tree: nothing is left in the repository when the gate is interrupted.

    Raises
    ------
    BaseRefused
        If its code does not run, or refuses its environments.
    """
    checkout, out = folder / "checkout", folder / "cdk.out"
    archive = subprocess.run(["git", "archive", base.commit], cwd=root, capture_output=True, check=True).stdout  # noqa: S607
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(checkout, filter="data")
    last = _run_app(checkout, out)
    if last is not None:
        packages = "" if _same_packages(root, checkout) else ", whose requirements.txt is not this one,"
        raise BaseRefused(
            f"The base {base.commit[:12]}{packages} does not synthesize with the packages of this checkout: {last}. "
            f"If that cannot be mended, say `Not-compared: {base.commit[:12]}` in the pull request."
        )
    return out


def _run_app(checkout: Path, out: Path) -> str | None:
    """The last words of the app if it failed."""
    try:
        environment = _environment(checkout, out)
    except (OSError, ValueError, KeyError) as error:
        return f"its cdk.json cannot be read ({type(error).__name__})"
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    return None if done.returncode == 0 else (done.stderr.strip().splitlines() or ["it said nothing"])[-1]


def _environment(checkout: Path, out: Path) -> Mapping[str, str]:
    context = json.loads((checkout / "cdk.json").read_text())["context"]
    return os.environ | {
        # Before what is installed: the packages of the base are not those of this checkout.
        "PYTHONPATH": os.pathsep.join(str(checkout / source_root) for source_root in _SOURCE_ROOTS),
        "PYTHONDONTWRITEBYTECODE": "1",
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_OUTDIR": str(out),
        "CDK_VALIDATION": "false",
    }


def _same_packages(root: Path, checkout: Path) -> bool:
    other = checkout / "requirements.txt"
    return other.is_file() and other.read_bytes() == (root / "requirements.txt").read_bytes()


def _git(root: Path, *arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)  # noqa: S607
    return done.stdout.strip() if done.returncode == 0 else None
