"""`python -m local_cloud up | down | status`: the local cloud of this checkout, from the shell."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from local_cloud.lifecycle import DEFAULT_HOME, LocalCloudError, start, stop
from local_cloud.running_cloud import RunningCloud


def main(arguments: list[str] | None = None) -> int:
    """Run one command. Exit codes: 0 done, 1 not running (`status`) or refused, 2 wrong usage."""
    options = _parser().parse_args(arguments)
    try:
        return {"up": _up, "down": _down, "status": _status}[options.command](options)
    except LocalCloudError as error:
        print(f"local cloud: {error}", file=sys.stderr)
        return 1


def _up(options: argparse.Namespace) -> int:
    if RunningCloud.find(options.home) is None:
        print("Starting the local cloud (a stand-in for AWS, for development only) …", flush=True)
    _describe(start(options.home, port=options.port))
    return 0


def _down(options: argparse.Namespace) -> int:
    print("The local cloud is stopped." if stop(options.home) else "No local cloud was running.")
    return 0


def _status(options: argparse.Namespace) -> int:
    cloud = RunningCloud.find(options.home)
    if cloud is None:
        print(f"No local cloud runs for {options.home}; `python -m local_cloud up` starts one.")
        return 1
    _describe(cloud)
    if not cloud.healthy():
        print(f"It does not answer: see its log, or restart it with `down` and `up` --home {options.home}.")
        return 1
    return 0


def _describe(cloud: RunningCloud) -> None:
    print(f"The local cloud runs at {cloud.endpoint_url} (process {cloud.pid}); its log is {cloud.log}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m local_cloud",
        description="A stand-in for AWS on this machine, on loopback: for development and tests, never for production.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    for name, summary in (
        ("up", "start it in the background, or find it, and wait until it answers"),
        ("down", "stop it and everything it started; logs stay"),
        ("status", "say whether and where it runs"),
    ):
        command = commands.add_parser(name, help=summary, description=summary)
        command.add_argument(
            "--home", type=Path, default=DEFAULT_HOME, help="folder of all its files (default: .local-cloud)"
        )
        if name == "up":
            command.add_argument("--port", type=int, default=0, help="on 127.0.0.1 (default: a free one)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
