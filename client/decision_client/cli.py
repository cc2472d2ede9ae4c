"""The command line `decisions`."""

from __future__ import annotations

import typer

from decision_client.commands.doctor import DOCTOR_HELP, doctor
from decision_client.commands.invoke import INVOKE_HELP, invoke
from decision_client.commands.package import PACKAGE_HELP, package

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _decisions() -> None:
    """Ask decision endpoints (typed questions in, probabilities over their options out), and help to deploy them."""


app.command(help=INVOKE_HELP)(invoke)
app.command(help=DOCTOR_HELP)(doctor)
app.command(help=PACKAGE_HELP)(package)
