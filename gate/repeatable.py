"""Two synths of one tree must be the same, byte for byte: ``python -m gate.repeatable FIRST SECOND``.

Each ran in a process of its own with another seed for Python's hashes, so that an order taken from a set shows.
"""

from __future__ import annotations

import sys
from itertools import zip_longest
from pathlib import Path

from .refused import report


def differences(first: Path, second: Path) -> list[str]:
    """A sentence for each file that is not the same in both folders, with the first line that differs."""
    ours, theirs = _files(first), _files(second)
    problems = []
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            problems.append(
                f"{name}: not the same in a second synth: {_first_difference(ours.get(name), theirs.get(name))}"
            )
    return problems


def _files(folder: Path) -> dict[str, bytes]:
    """All that is deployed. A ``.metadata.json`` is not: in it the CDK notes where in its own code a thing was made."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and not path.name.endswith(".metadata.json")
    }


def _first_difference(ours: bytes | None, theirs: bytes | None) -> str:
    if ours is None or theirs is None:
        return "one of the two does not have it"
    pairs = zip_longest(*(text.decode(errors="replace").splitlines() for text in (ours, theirs)), fillvalue="")
    line, other = next(((line, other) for line, other in pairs if line != other), ("", ""))
    return f"`{line.strip():.120}` then `{other.strip():.120}`"


def main(arguments: list[str]) -> int:
    """Compare the two folders that are named."""
    first, second = (Path(folder) for folder in arguments)
    return report(differences(first, second), passed="A second synth wrote the same bytes.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
