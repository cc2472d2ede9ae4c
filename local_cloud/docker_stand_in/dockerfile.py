"""Read a Dockerfile as far as it can be checked without running it: its arguments, its bases, and what it copies."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

_INSTRUCTIONS = ("ARG", "FROM", "RUN", "COPY", "LABEL", "ENV", "EXPOSE", "ENTRYPOINT")
_VARIABLE = re.compile(r"\$\{(\w+)\}|\$(\w+)")


class DockerRefused(Exception):
    """What Docker would not do, or what the stand-in cannot; the text says which."""


@dataclass(frozen=True)
class Context:
    """A build context whose Dockerfile can be followed: what it is built on, and a digest of all its files."""

    bases: tuple[str, ...]
    sha256: str


def read_context(folder: Path, given: Mapping[str, str]) -> Context:
    """Check the Dockerfile in a folder, with the build arguments that were given.

    Raises
    ------
    DockerRefused
        If an argument has no value, a source of a COPY is not there, or an instruction is not known here.
    """
    file = folder / "Dockerfile"
    if not file.is_file():
        raise DockerRefused(f"{folder} holds no Dockerfile")
    reading = _Reading(folder, given)
    for instruction, rest in _instructions(file.read_text()):
        reading.follow(instruction, rest)
    if not reading.stages:
        raise DockerRefused("no build stage in the Dockerfile: begin one with FROM")
    return Context(tuple(dict.fromkeys(reading.bases)), _sha256(folder))


class _Reading:
    """Where the reading of a Dockerfile stands."""

    def __init__(self, folder: Path, given: Mapping[str, str]) -> None:
        self._folder = folder
        self._given = given
        # Those before the first FROM reach the other FROMs only, as in Docker.
        self._arguments: dict[str, str] = {}
        self.bases: list[str] = []
        self.stages: list[str] = []

    def follow(self, instruction: str, rest: str) -> None:
        if instruction not in _INSTRUCTIONS:
            raise DockerRefused(f"{instruction} is not known here; known: {', '.join(_INSTRUCTIONS)}")
        if instruction == "ARG":
            self._take_argument(rest)
        elif instruction == "FROM":
            self._begin_stage(rest)
        elif instruction == "COPY":
            self._check_copy(rest)

    def _take_argument(self, rest: str) -> None:
        name, has_default, default = rest.partition("=")
        if name not in self._given and not has_default:
            raise DockerRefused(f"the Dockerfile's argument {name} has no value: give --build-arg {name}=...")
        self._arguments[name] = self._given.get(name, default)

    def _begin_stage(self, rest: str) -> None:
        words = self._expanded(rest).split()
        stage = words[2] if len(words) == 3 and words[1].upper() == "AS" else str(len(self.stages))
        if len(words) not in (1, 3):
            raise DockerRefused(f"FROM {rest} names no base that is known here")
        if words[0] not in self.stages:
            self.bases.append(words[0])
        self.stages.append(stage)

    def _check_copy(self, rest: str) -> None:
        words = json.loads(rest) if rest.startswith("[") else self._expanded(rest).split()
        options = [word for word in words if word.startswith("--")]
        *sources, _target = [word for word in words if not word.startswith("--")]
        stages = [option.removeprefix("--from=") for option in options if option.startswith("--from=")]
        if stages:
            # What an earlier stage made is known to no one: its steps were not run.
            if stages[0] not in self.stages:
                raise DockerRefused(f"COPY {rest}: no stage before it is named {stages[0]}")
            return
        for source in sources:
            if not any(self._folder.glob(source.lstrip("/"))):
                raise DockerRefused(f"COPY {rest}: the build context has no {source}")

    def _expanded(self, text: str) -> str:
        def value(match: re.Match[str]) -> str:
            name = match[1] or match[2]
            if name not in self._arguments:
                raise DockerRefused(f"{text!r} uses {name}, which no ARG before it declares")
            return self._arguments[name]

        return _VARIABLE.sub(value, text)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction and what follows it on its line, with continued lines made one."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        instruction, _, rest = line.strip().partition(" ")
        yield instruction.upper(), rest.strip()


def _sha256(folder: Path) -> str:
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    listing = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(folder)}\n" for file in files]
    return hashlib.sha256("".join(listing).encode()).hexdigest()
