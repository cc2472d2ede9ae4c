"""Performs a Dockerfile on this machine: each stage is a folder, and absolute paths are those of its folder.

The base image is this machine's Python without its packages at `/usr/bin/python3`, and a folder with llama.cpp. What
the Dockerfile would download is taken from what is installed here, if it is what the lock file pins.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_PIP = Path(__file__).with_name("installed_packages_pip.py")
# An absolute path in a command or a variable; not what only looks like one, in a URL or within a word.
_ABSOLUTE = re.compile(r"(?<![\w.:/*-])/(?=(?:opt|tmp|usr)/)")


@dataclass
class Image:
    """A stage as far as it was followed; at the end of the Dockerfile, the image."""

    root: Path
    arguments: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    entry_point: list[str] = field(default_factory=list)

    def inside(self, text: str) -> str:
        """Text whose absolute paths lead into this image."""
        return _ABSOLUTE.sub(f"{self.root}/", text)


def rehearse(
    context: Path, folder: Path, arguments: Mapping[str, str], *, engine: Path, file: str = "Dockerfile"
) -> Image:
    """Follow the Dockerfile of a context and return the last stage.

    Parameters
    ----------
    context:
        The build context.
    folder:
        An empty folder for the stages.
    arguments:
        Build arguments.
    engine:
        What `/opt/llama.cpp/bin` of the base image is.
    """
    stages: dict[str, Image] = {}
    current = None
    for instruction, rest in _instructions((context / file).read_text()):
        if instruction == "FROM":
            name = rest.partition(" AS ")[2] or str(len(stages))
            current = stages[name] = Image(_base(folder / name, engine))
        elif current is not None:
            _follow(current, instruction, rest, context=context, stages=stages, given=arguments)
    assert current is not None, "the Dockerfile has no stage"
    return current


def _follow(
    image: Image, instruction: str, rest: str, *, context: Path, stages: Mapping[str, Image], given: Mapping[str, str]
) -> None:
    match instruction:
        case "ARG":
            image.arguments[rest] = given[rest]
        case "RUN":
            command = ["/bin/sh", "-e", "-c", image.inside(rest)]
            environment = {"PATH": "/usr/bin:/bin", **image.arguments, **image.environment}
            ran = subprocess.run(command, env=environment, cwd=image.root, capture_output=True, text=True, check=False)
            assert ran.returncode == 0, f"RUN {rest}\n{ran.stdout}{ran.stderr}"
        case "COPY":
            *sources, target = rest.split()
            source_root = stages[sources.pop(0).removeprefix("--from=")].root if sources[0][:2] == "--" else context
            (source,) = sources
            _copy(source_root / source.lstrip("/"), image.root / target.lstrip("/"))
        case "ENV" | "LABEL":
            pairs = dict(word.split("=", 1) for word in shlex.split(rest))
            values = {name: image.inside(value) for name, value in pairs.items()}
            (image.environment if instruction == "ENV" else image.labels).update(values)
        case "ENTRYPOINT":
            image.entry_point = [image.inside(word) for word in json.loads(rest)]
        case "EXPOSE":
            pass  # documentation, to Docker too
        case _:
            raise AssertionError(f"{instruction} is not rehearsed: teach it to, or leave it out of the Dockerfile")


def _base(root: Path, engine: Path) -> Path:
    """What is used of AWS's llama.cpp container."""
    python = root / "usr/bin/python3"
    python.parent.mkdir(parents=True)
    # -S: a container has none of this machine's packages.
    python.write_text(
        "#!/bin/sh\n"
        f'if [ "$1 $2" = "-m venv" ]; then exec {sys.executable} {_PIP} make "$3"; fi\n'
        f'exec {sys.executable} -S "$@"\n'
    )
    python.chmod(0o755)
    (root / "tmp").mkdir()
    (root / "opt/llama.cpp").mkdir(parents=True)
    (root / "opt/llama.cpp/bin").symlink_to(engine)
    return root


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True)
    else:
        shutil.copyfile(source, target)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        instruction, _, rest = line.strip().partition(" ")
        yield instruction, rest.strip()
