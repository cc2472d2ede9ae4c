"""`decisions doctor`."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from decision_client.assembly import AssemblyUnreadable, NoSuchEnvironment, Stack, read_assembly, select
from decision_client.aws import clients_of
from decision_client.commands.common import (
    AssemblyOption,
    RegionOption,
    SynthOption,
    aws_session,
    exit_with,
    refuse_both,
)
from decision_client.doctor.examination import NoRegion, examine
from decision_client.doctor.finding import Finding, Status, worst
from decision_client.doctor.report import findings_json, show_findings
from decision_client.synth import find_assembly

EXIT_CODES = {Status.OK: 0, Status.MISSING: 1, Status.UNKNOWN: 3}
_EXIT_USAGE = 2
_EXIT_UNREADABLE = 3

DOCTOR_HELP = """Say before a deploy what is missing for it, with the page of the console where it is done.

Reads what `cdk synth` wrote, so it checks exactly what would be deployed, of any CDK app: credentials, bootstrap, quota
and offer of each instance type, images, the GPU host's image, permissions, and the files to upload. It changes nothing.

ENV is a Stage (dev), a stack (dev/Endpoint) or a pattern ('dev/*').

\b
Examples:
  decisions doctor dev
  decisions doctor dev --synth --profile deploy
  decisions doctor prod --assembly build/cdk.out --json | jq '.findings[] | select(.status != "ok")'

\b
Exit codes:
  0  nothing is missing
  1  something is missing
  2  the command is wrong
  3  nothing is known to be missing, but not all could be checked
"""


def doctor(
    env: Annotated[str, typer.Argument(metavar="ENV", show_default=False)],
    assembly: AssemblyOption = None,
    synth: SynthOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
    profile: Annotated[str | None, typer.Option(help="The AWS profile to ask with.")] = None,
    region: RegionOption = None,
) -> None:
    # The help is DOCTOR_HELP: a docstring here would be a second one.
    progress = Console(stderr=True)
    refuse_both(assembly, synth)
    session = aws_session(profile, region)
    try:
        with (
            progress.status("Looking for the cloud assembly …") as status,
            find_assembly(env, given=assembly, synth=synth, say=lambda text: status.update(Text(text))) as found,
        ):
            stacks = select(read_assembly(found.folder), env)
            _refuse_other_region(stacks, region)
            findings: list[Finding] = list(
                examine(
                    stacks,
                    region=session.region_name,
                    clients=clients_of(session),
                    on_check=lambda name: status.update(Text(f"Checking {name} …")),
                )
            )
            described = found.described
    except (NoSuchEnvironment, NoRegion) as error:
        raise exit_with(progress, error, _EXIT_USAGE) from error
    except AssemblyUnreadable as error:
        raise exit_with(progress, error, _EXIT_UNREADABLE) from error
    if as_json:
        sys.stdout.write(findings_json(env, described, findings) + "\n")
    else:
        show_findings(Console(), env, described, findings)
    raise typer.Exit(EXIT_CODES[worst(findings)])


def _refuse_other_region(stacks: list[Stack], region: str | None) -> None:
    named = sorted({stack.region for stack in stacks if stack.region})
    if region and named and named != [region]:
        raise typer.BadParameter(f"the stacks go to {' and '.join(named)}, whatever --region says: leave it out")
