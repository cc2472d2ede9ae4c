"""`python -m local_cloud.demo up | down`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from local_cloud.demo.checkout import HOME
from local_cloud.demo.preflight import installation_problems, machine_problems

_INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Exit codes: 0 done, 1 failed with the reason printed, 2 wrong usage, 130 interrupted."""
    options = _parser().parse_args(arguments)
    problems = machine_problems(options.port) or installation_problems() if options.command == "up" else []
    if problems:
        print("\n".join(problems))
        return 1
    # Only now: the packages these need may be what was missing.
    from rich.console import Console

    from local_cloud.demo.down import down
    from local_cloud.demo.up import up

    console = Console()
    try:
        if options.command == "up":
            return up(console, home=options.home.absolute(), port=options.port)
        return down(console, home=options.home.absolute())
    except KeyboardInterrupt:
        console.print("Interrupted; `make down` removes what was started.", highlight=False)
        return _INTERRUPTED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m local_cloud.demo",
        description="Deploy the app to the local cloud with the real CDK CLI, ask the endpoint, and take it all down.",
        epilog="example: python -m local_cloud.demo up --port 4566",
    )
    parser.set_defaults(port=0)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, summary in (
        ("up", "start, deploy, ask and show the answers; again, it finds things in place"),
        ("down", "destroy the stacks and stop every process; logs stay"),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument(
            "--home", type=Path, default=HOME, help="folder of the local cloud's files (default: .local-cloud)"
        )
        if name == "up":
            command.add_argument("--port", type=int, default=0, help="port on 127.0.0.1 (default: a free one)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
