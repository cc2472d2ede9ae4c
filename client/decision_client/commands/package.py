"""`decisions package`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from decision_client.assembly import AssemblyUnreadable, NoSuchEnvironment, Stack, read_assembly, select
from decision_client.aws import Clients, clients_of
from decision_client.builds.deployed import NotDeployed, NotReadable
from decision_client.builds.request import BuildRequest, build_requests, has_builds
from decision_client.builds.result import BuildResult, find_result
from decision_client.builds.run import LONGEST_HOURS, BuildFailed, Builds, Look
from decision_client.commands.common import (
    AssemblyOption,
    RegionOption,
    SynthOption,
    aws_session,
    exit_with,
    refuse_both,
    say,
)
from decision_client.doctor.credentials import check_credentials
from decision_client.place import Place
from decision_client.synth import find_assembly
from decision_client.template_values import Unresolved

DEFAULT_HOURS = 8.0
_EXIT_FAILED = 1
_EXIT_USAGE = 2
_EXIT_UNAVAILABLE = 3
_EXIT_INTERRUPTED = 130
_SECONDS_BETWEEN_LINES = 60.0

PACKAGE_HELP = """Package the model of an environment before its deploy, however long that takes.

A deploy packages the model itself, and can wait 50 minutes for it. This starts the same build with the same settings,
as the synthesized template has them, and more time; the deploy then finds the result and builds nothing. The stack with
the artifact store must be deployed: `cdk deploy dev/Artifacts`.

\b
Examples:
  decisions package dev
  decisions package prod --hours 12 --profile deploy
  decisions package dev --image                           # the container image instead

\b
Exit codes:
  0    the package is there
  1    the build failed
  2    the command is wrong
  3    it could not be started or looked at
  130  interrupted; the build goes on
"""


@dataclass(frozen=True)
class _Finished:
    """A result, and the build that made it; None where it was there before."""

    result: BuildResult
    build_id: str | None


def package(
    env: Annotated[str, typer.Argument(metavar="ENV", show_default=False)],
    image: Annotated[bool, typer.Option("--image", help="Build the container image instead of the package.")] = False,
    hours: Annotated[
        float, typer.Option(min=0.1, max=LONGEST_HOURS, help="How long the build may take.")
    ] = DEFAULT_HOURS,
    assembly: AssemblyOption = None,
    synth: SynthOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    profile: Annotated[str | None, typer.Option(help="The AWS profile to sign with.")] = None,
    region: RegionOption = None,
) -> None:
    # The help is PACKAGE_HELP: a docstring here would be a second one.
    progress = Console(stderr=True)
    refuse_both(assembly, synth)
    session = aws_session(profile, region)
    clients = clients_of(session)
    try:
        with find_assembly(env, given=assembly, synth=synth, say=lambda text: say(progress, text)) as found:
            stacks = select(read_assembly(found.folder), env)
        building = _building(stacks, images=image)
        place = _place(building, session.region_name, clients)
        for request in list(build_requests(building, place, clients, images=image)):
            _print(_run(request, place, clients, hours, env, progress), as_json)
    except NoSuchEnvironment as error:
        raise exit_with(progress, error, _EXIT_USAGE) from error
    except (AssemblyUnreadable, NotDeployed, NotReadable, Unresolved) as error:
        raise exit_with(progress, error, _EXIT_UNAVAILABLE) from error
    except BuildFailed as error:
        raise exit_with(progress, error, _EXIT_FAILED) from error


def _building(stacks: Sequence[Stack], *, images: bool) -> list[Stack]:
    building = [stack for stack in stacks if has_builds(stack, images=images)]
    if not building:
        what = "an image" if images else "a model"
        names = ", ".join(stack.path for stack in stacks)
        raise NoSuchEnvironment(f"no deploy of {names} builds {what}: name the environment or stack that does")
    return building


def _place(stacks: Sequence[Stack], region: str | None, clients: Clients) -> Place:
    """Where the stacks go, once it is sure that the credentials are of that account."""
    regions = sorted({stack.region or region or "" for stack in stacks})
    if regions[0] == "":
        raise NotReadable("the stacks name no region, and neither does the profile: name one with --region")
    if len(regions) > 1:
        raise NoSuchEnvironment(f"the stacks go to {' and '.join(regions)}: name one of them, such as {stacks[0].path}")
    finding, identity = check_credentials(stacks, regions[0], clients)
    if identity is None:
        raise NotReadable(finding.sentence)
    return Place(identity.account, regions[0])


def _run(request: BuildRequest, place: Place, clients: Clients, hours: float, env: str, progress: Console) -> _Finished:
    finished = find_result(request.result, place, clients)
    if finished is not None:
        say(progress, f"{finished.uri} is complete already: there is nothing to build")
        return _Finished(finished, None)
    builds = Builds(place, clients)
    build_id = builds.find_running(request)
    if build_id is None:
        build_id = builds.start(request, hours=hours)
        say(progress, f"Started build {build_id}, which may take {hours:g} hours")
    else:
        say(progress, f"Build {build_id} is at it already: waiting for it")
    try:
        with progress.status("Waiting for the build …") as status:
            builds.wait(build_id, _reporter(progress, status.update))
    except KeyboardInterrupt:
        say(
            progress,
            f"The build goes on. `decisions package {env}` waits for it again; to stop it:\n"
            f"  aws codebuild stop-build --region {place.region} --id {build_id}",
        )
        raise typer.Exit(_EXIT_INTERRUPTED) from None
    finished = find_result(request.result, place, clients)
    if finished is None:
        raise BuildFailed(f"build {build_id} succeeded and left no result: was the stack of its project changed since?")
    return _Finished(finished, build_id)


def _reporter(progress: Console, update: Callable[[Text], None]) -> Callable[[Look], None]:
    """On a terminal one line that changes; elsewhere a line for each phase, and one a minute."""
    shown: list[Look] = []

    def report(look: Look) -> None:
        text = f"{_elapsed(look.seconds)}  {look.phase}  {look.last_line}".rstrip()
        # As text: what looks like markup in the log's own words is none.
        update(Text(text))
        if not progress.is_terminal and (
            not shown or look.phase != shown[-1].phase or look.seconds - shown[-1].seconds >= _SECONDS_BETWEEN_LINES
        ):
            shown.append(look)
            say(progress, text)

    return report


def _elapsed(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _print(finished: _Finished, as_json: bool) -> None:
    if as_json:
        document = {"uri": finished.result.uri, "digest": finished.result.digest, "build_id": finished.build_id}
        sys.stdout.write(json.dumps(document) + "\n")
        return
    out = Console()
    say(out, f"uri     {finished.result.uri}")
    say(out, f"digest  {finished.result.digest}")
