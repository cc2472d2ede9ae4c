"""What several commands need."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import boto3
import typer
from botocore.exceptions import BotoCoreError, ProfileNotFound
from rich.console import Console

AssemblyOption = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="What `cdk synth` wrote. Default: cdk.out here.")
]
SynthOption = Annotated[
    bool, typer.Option("--synth", help="Run `cdk synth` first. Done anyway where there is no cdk.out.")
]
RegionOption = Annotated[str | None, typer.Option(help="Where stacks go that name no region.")]


def refuse_both(assembly: Path | None, synth: bool) -> None:
    """An assembly is read or written, not both."""
    if assembly is not None and synth:
        raise typer.BadParameter("--synth writes an assembly and --assembly names one: leave one of them out")


def aws_session(profile: str | None, region: str | None) -> boto3.Session:
    """A session of the profile and region that were named, or of the environment's."""
    try:
        return boto3.Session(profile_name=profile, region_name=region)
    except ProfileNotFound as error:
        raise typer.BadParameter(f"{error}: name one of ~/.aws/config with --profile") from error
    except BotoCoreError as error:
        raise typer.BadParameter(f"the AWS settings cannot be read: {error}") from error


def say(console: Console, text: str) -> None:
    """Print a line as it is, however long."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def exit_with(progress: Console, error: Exception, code: int) -> typer.Exit:
    """Say what went wrong; the answer is to be raised."""
    say(progress, f"Error: {error}")
    return typer.Exit(code)
