"""`make demo`: start the local cloud, deploy the app to it, ask the endpoint, and say what now runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from decision_client import DecisionClient, DecisionError
from decision_client.decisions import request_for_all, request_for_one
from decision_client.local_cloud import LocalCloud
from decision_client.reading import NotAnAnswer
from decision_client.report import show_answer
from local_cloud.demo.cdk import CdkCli, CdkFailed
from local_cloud.demo.checkout import HOME, from_root
from local_cloud.demo.progress import step
from local_cloud.demo.questions import ONE_DECISION, THREE_DECISIONS
from local_cloud.lifecycle import LocalCloudError, start
from local_cloud.running_cloud import RunningCloud

STACKS = "local/*"


def up(console: Console, *, home: Path = HOME, port: int = 0) -> int:
    """Do it all; the exit code is 0 when the endpoint answered, and 1 with the reason printed when not."""
    try:
        with step(console, "Starting the local cloud"):
            cloud = start(home, port=port)
        endpoint_name = _deploy(console, cloud)
        _ask(console, cloud, endpoint_name)
    except (LocalCloudError, CdkFailed, DecisionError, NotAnAnswer) as error:
        _say(console, f"The demo stopped: {error}", "", "`make down` removes what was started so far.")
        return 1
    _explain(console, cloud, endpoint_name)
    return 0


def _deploy(console: Console, cloud: RunningCloud) -> str:
    cdk = CdkCli(cloud)
    cdk.deploy_log.unlink(missing_ok=True)
    if not cdk.is_bootstrapped():
        with step(console, f"cdk bootstrap aws://{cloud.account}/{cloud.region}") as on_news:
            cdk.bootstrap(on_news)
    with step(console, f"cdk deploy '{STACKS}'") as on_news:
        outputs = cdk.deploy(STACKS, on_news)
    return endpoint_name_of(outputs)


def endpoint_name_of(outputs: Mapping[str, Mapping[str, str]]) -> str:
    """The output `EndpointName` of whichever stack has it.

    Raises
    ------
    CdkFailed
        If none has.
    """
    for of_stack in outputs.values():
        if "EndpointName" in of_stack:
            return of_stack["EndpointName"]
    raise CdkFailed(f"no stack has the output EndpointName, of {', '.join(outputs) or 'none at all'}: see stacks/")


def _ask(console: Console, cloud: RunningCloud, endpoint_name: str) -> None:
    reached = LocalCloud(cloud.port, cloud.account, cloud.region)
    client = DecisionClient(endpoint_name, session=reached.session(), endpoint_url=reached.endpoint_url)
    for title, body in (
        ("Asking one decision", request_for_one(ONE_DECISION)),
        ("Asking three decisions over one state", request_for_all(THREE_DECISIONS)),
    ):
        started = time.monotonic()
        with step(console, title):
            answer = client.ask(body)
        seconds = time.monotonic() - started
        console.print()
        show_answer(console, body, answer, seconds)


def _explain(console: Console, cloud: RunningCloud, endpoint_name: str) -> None:
    home = from_root(cloud.home)
    where = "--local" if cloud.home == HOME else f"--local-home {home}"
    _say(
        console,
        f"Running: endpoint {endpoint_name} of the local cloud at {cloud.endpoint_url} (process {cloud.pid}).",
        "The local cloud stands in for AWS on this machine; it is no place for production.",
        "The sample model is tiny: it shows how everything works together, not how well a model can decide.",
        f"Logs:    {home}/deploy.log, {home}/emulator.log, {home}/builds/, {home}/endpoints/",
        f"Ask:     .venv/bin/decisions invoke {where}",
        f"         .venv/bin/decisions invoke {where} request.json   (--help shows a request)",
        "Stop:    make down",
    )


def _say(console: Console, *lines: str) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
