"""`decisions invoke`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from decision_client.client import DEFAULT_DEADLINE_SECONDS, DecisionClient
from decision_client.commands.common import aws_session, exit_with
from decision_client.decisions import request_for_one
from decision_client.errors import EndpointBusy, EndpointUnavailable, RequestRefused
from decision_client.examples import EXAMPLE_DECISION
from decision_client.local_cloud import HOME_NAME, LOCAL_ENDPOINT_NAME
from decision_client.reading import NotAnAnswer
from decision_client.report import show_answer

EXIT_REFUSED = 2
EXIT_UNAVAILABLE = 3
EXIT_BUSY = 4
KEY_VARIABLE = "DECISION_API_KEY"

INVOKE_HELP = """Ask an endpoint for the probability of each option of a decision.

FILE holds the request, - reads it from standard input, and without FILE a built-in example is asked:

\b
{"decision": {"id": "support-route",
              "state": "The customer cannot sign in.",
              "question": "Which queue should handle this request?",
              "options": [{"id": "account-access", "description": "Account access support."},
                          {"id": "billing", "description": "Billing support."}]}}

Several decisions about one state go together as {"decisions": [{...}, {...}]}. The other shape is System One's:

\b
{"state": "I was charged twice.",
 "questions": {"refund": {"type": "noul", "instructions": "Does the customer want money back?"},
               "team": {"type": "choice", "criteria": {"billing": "Payments.", "other": null}},
               "anger": {"type": "score", "criteria": ["Calm", "Annoyed", "Angry"]}}}

\b
Examples:
  decisions invoke --local
  decisions invoke request.json --endpoint decisions-dev --region us-east-1
  decisions invoke request.json --url http://127.0.0.1:8080
  decisions invoke - --endpoint decisions-dev --json < request.json | jq .result.probabilities

An adapter's key, with --url, is read from the environment variable DECISION_API_KEY.

\b
Exit codes:
  0  the endpoint answered
  2  the command or the request is wrong
  3  there is no such endpoint, it failed, or it cannot be reached
  4  it stayed busy until the deadline
"""


def invoke(
    file: Annotated[str | None, typer.Argument(metavar="FILE|-", show_default=False)] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"The endpoint. With --local: {LOCAL_ENDPOINT_NAME} unless given."),
    ] = None,
    local: Annotated[
        bool, typer.Option("--local", help=f"Ask the local cloud of this checkout ({HOME_NAME} here or in a parent).")
    ] = False,
    local_home: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Ask the local cloud whose files are in this folder.")
    ] = None,
    url: Annotated[str | None, typer.Option(metavar="URL", help="Ask an adapter by its own URL, without AWS.")] = None,
    endpoint_url: Annotated[
        str | None, typer.Option(metavar="URL", help="URL of the SageMaker runtime API, instead of AWS's.")
    ] = None,
    region: Annotated[str | None, typer.Option(help="The endpoint's region, instead of the profile's.")] = None,
    profile: Annotated[str | None, typer.Option(help="The AWS profile to sign with.")] = None,
    deadline: Annotated[
        float, typer.Option(metavar="SECONDS", min=1, help="How long to go on asking a busy endpoint.")
    ] = DEFAULT_DEADLINE_SECONDS,
    as_json: Annotated[bool, typer.Option("--json", help="Print the endpoint's own JSON.")] = False,
) -> None:
    # The help is INVOKE_HELP: a docstring here would be a second one.
    progress = Console(stderr=True)
    try:
        body = _read_request(file)
        with (
            _client(endpoint, local, local_home, url, endpoint_url, region, profile, deadline, progress) as client,
            progress.status(f"Asking {client.name} …"),
        ):
            started = time.monotonic()
            answer = client.ask(body)
            seconds = time.monotonic() - started
        if as_json:
            sys.stdout.buffer.write(answer.rstrip(b"\n") + b"\n")
        else:
            show_answer(Console(), body, answer, seconds)
    except RequestRefused as error:
        raise exit_with(progress, error, EXIT_REFUSED) from error
    except (EndpointUnavailable, NotAnAnswer) as error:
        raise exit_with(progress, error, EXIT_UNAVAILABLE) from error
    except EndpointBusy as error:
        raise exit_with(progress, error, EXIT_BUSY) from error


def _read_request(file: str | None) -> bytes:
    if file is None:
        return request_for_one(EXAMPLE_DECISION)
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise typer.BadParameter(
            f"{file} cannot be read ({error.strerror}): name a file with a JSON request, or - for standard input"
        ) from error


def _client(
    endpoint: str | None,
    local: bool,
    local_home: Path | None,
    url: str | None,
    endpoint_url: str | None,
    region: str | None,
    profile: str | None,
    deadline: float,
    progress: Console,
) -> DecisionClient:
    def on_wait(seconds: float, reason: str) -> None:
        _say_wait(progress, seconds, reason)

    is_local = local or local_home is not None
    of_aws = endpoint_url or region or profile
    if url is not None:
        if endpoint or is_local or of_aws:
            raise typer.BadParameter(
                "--url names an adapter without AWS: leave --endpoint, --local, --local-home, --endpoint-url, --region "
                "and --profile out, or leave --url out"
            )
        try:
            key = os.environ.get(KEY_VARIABLE) or None
            return DecisionClient.from_url(url, key=key, deadline_seconds=deadline, on_wait=on_wait)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
    if is_local:
        if of_aws:
            raise typer.BadParameter(
                "the local cloud has its own URL, region and credentials: leave --endpoint-url, --region and --profile "
                "out, or leave --local out"
            )
        return DecisionClient.from_local_cloud(
            local_home, endpoint_name=endpoint or LOCAL_ENDPOINT_NAME, deadline_seconds=deadline, on_wait=on_wait
        )
    if not endpoint:
        raise typer.BadParameter(
            "name the endpoint with --endpoint, ask the local cloud's with --local, or an adapter with --url"
        )
    return DecisionClient(
        endpoint,
        session=aws_session(profile, region),
        endpoint_url=endpoint_url,
        deadline_seconds=deadline,
        on_wait=on_wait,
    )


def _say_wait(progress: Console, seconds: float, reason: str) -> None:
    progress.print(f"busy ({reason}): asking again in {seconds:.1f} s", markup=False, highlight=False, soft_wrap=True)
