"""The whole app: one stage for each environment file."""

from __future__ import annotations

from pathlib import Path

from aws_cdk import App

from decision_endpoints import InvalidArguments
from decision_endpoints.errors import did_you_mean

from .environment import EnvironmentRefused, load_environments
from .stage import EnvironmentStage


def add_environments(app: App, *, root: Path) -> None:
    """Give `app` the stage of each environment: of `root`'s ``environments/``, or the folder that its context names.

    With ``--context environment=<name>`` only that one's stage is made, which saves the time of the others; all files
    are checked all the same.

    Raises
    ------
    EnvironmentRefused
        If a file does not fit, or what it asks for; of all files at once.
    """
    folder = root / (app.node.try_get_context("environments") or "environments")
    only = app.node.try_get_context("environment")
    environments = load_environments(folder, root=root)
    if only and only not in (names := [environment.name for environment in environments]):
        raise EnvironmentRefused(f"{folder} has no environment {only}: {did_you_mean(only, names)}")
    refusals = []
    for environment in environments:
        if only in (None, environment.name):
            try:
                EnvironmentStage(app, environment)
            except InvalidArguments as refused:
                refusals.append(f"{folder / environment.name}.yaml: {refused}")
    if refusals:
        raise EnvironmentRefused("\n".join(refusals))
