"""`python -m local_cloud.docker_stand_in`: the `docker` of a privileged build.

It knows what an image build needs, `login`, `build` and `push`, and refuses everything else. As Docker does, it keeps
what one command leaves for the next in the home directory.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from local_cloud.docker_stand_in.dockerfile import DockerRefused, read_context
from local_cloud.docker_stand_in.image import Image
from local_cloud.docker_stand_in.memory import Memory
from local_cloud.docker_stand_in.registry import push, registry_of

_PLATFORMS = ("linux/amd64", "linux/arm64")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise DockerRefused(f"{message}; known here: login, build and push, with what an image build gives them")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    try:
        options = _parser().parse_args(arguments)
        memory = Memory(Path(os.environ["HOME"]) / ".docker-stand-in.json")
        match options.command:
            case "login":
                _login(options, memory)
            case "build":
                _build(options, memory)
            case _:
                _push(options, memory)
    except DockerRefused as refused:
        _say(str(refused))
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="docker", add_help=False, allow_abbrev=False)
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    login = commands.add_parser("login", add_help=False, allow_abbrev=False)
    login.add_argument("--username", required=True)
    login.add_argument("--password-stdin", action="store_true", required=True)
    login.add_argument("registry")
    build = commands.add_parser("build", add_help=False, allow_abbrev=False)
    build.add_argument("--platform", choices=_PLATFORMS, default=_PLATFORMS[0])
    build.add_argument("--build-arg", action="append", default=[])
    build.add_argument("--tag", required=True)
    build.add_argument("context", type=Path)
    commands.add_parser("push", add_help=False, allow_abbrev=False).add_argument("reference")
    return parser


def _login(options: argparse.Namespace, memory: Memory) -> None:
    if not sys.stdin.read().strip():
        raise DockerRefused(f"no password for {options.registry} came by standard input")
    memory.log_in(options.registry)
    _say(f"logged in to {options.registry}")


def _build(options: argparse.Namespace, memory: Memory) -> None:
    given = dict(argument.partition("=")[::2] for argument in options.build_arg)
    context = read_context(options.context, given)
    for base in context.bases:
        memory.require_login(registry_of(base))
    image = Image(options.tag, options.platform, context.bases, context.sha256)
    memory.keep(image)
    _say(f"the Dockerfile and what it copies are there; no step of it is run. {options.tag} has the content {image.id}")


def _push(options: argparse.Namespace, memory: Memory) -> None:
    memory.require_login(registry_of(options.reference))
    digest = push(memory.image(options.reference))
    _say(f"pushed the manifest of {options.reference}, and no layers: digest {digest}")


def _say(text: str) -> None:
    print(f"stand-in for docker: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
