"""Stands for the `pip` of a rehearsed image: it copies what is installed here, and nothing but what is pinned.

`make FOLDER` makes a virtual environment whose Python has only this `-m pip`.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement


def main() -> None:
    """Make the environment, or install into a folder."""
    if sys.argv[1] == "make":
        python = Path(sys.argv[2]) / "bin/python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {sys.executable} {Path(__file__).resolve()} "$@"\n')
        python.chmod(0o755)
        return
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("-m", choices=["pip"], required=True)
    parser.add_argument("command", choices=["install"])
    for flag in ("--no-cache-dir", "--disable-pip-version-check"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("--require-hashes", action="store_true", required=True)
    parser.add_argument("--only-binary", choices=[":all:"], required=True)
    parser.add_argument("--target", type=Path, required=True)
    parser.add_argument("--requirement", type=Path, required=True)
    options = parser.parse_args()
    for line in options.requirement.read_text().replace("\\\n", " ").splitlines():
        pinned, *hashes = line.split("--hash=")
        if pinned.strip() and not pinned.lstrip().startswith("#"):
            _install(Requirement(pinned.strip()), hashes, options.target)


def _install(pinned: Requirement, hashes: list[str], target: Path) -> None:
    if not hashes:
        sys.exit(f"{pinned} has no hash")
    if pinned.marker and not pinned.marker.evaluate():
        return
    found = distribution(pinned.name)
    if not pinned.specifier.contains(found.version):
        sys.exit(f"{pinned} is wanted and {found.version} installed: run `make install`")
    for file in found.files or ():
        if ".." not in file.parts and not re.search(r"\.pyc$", file.name):
            copy = target / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(str(file.locate()), copy)


if __name__ == "__main__":
    main()
