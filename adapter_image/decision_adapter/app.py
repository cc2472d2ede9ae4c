"""The HTTP face: which route leads where, who is let in, and what is said of a request that fits none."""

from __future__ import annotations

import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import cast

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from decision_adapter.answering import Answering, Contract
from decision_adapter.bearer import BearerKey
from decision_adapter.engine import Engine
from decision_adapter.metrics import CONTENT_TYPE, Metrics
from decision_adapter.openapi import describe
from decision_adapter.request_log import Log, RequestRecord, where
from decision_adapter.responses import (
    NotServing,
    encoded_response,
    http_problem,
    json_response,
    problem_of,
    refused,
)
from decision_adapter.wire import Limits, Problem, invocations, semif, systemone, systemone_answer

INVOCATIONS = Contract("/invocations", invocations.decode, semif.refusal)
SYSTEM_ONE = Contract("/v1/systemone", systemone.decode, systemone_answer.refusal)
MODELS = "/v1/models"
METRICS = "/metrics"
OPENAPI = "/openapi.json"
PING = "/ping"

_THERE_ARE = f"POST {INVOCATIONS.path}, POST {SYSTEM_ONE.path}, GET {MODELS}, {METRICS}, {OPENAPI} and {PING}"
_ROUTING_ERRORS: dict[int, str] = {
    HTTPStatus.NOT_FOUND: f"no such path: there are {_THERE_ARE}",
    HTTPStatus.METHOD_NOT_ALLOWED: f"this method is not allowed here: there are {_THERE_ARE}",
}

Handler = Callable[[Request], Awaitable[Response]]


@dataclass(frozen=True)
class App:
    """The application and the way to end it.

    `asgi` is what a server runs. `give_up`, to be called on the server's loop, answers every request that still waits
    with 503: the process is about to end, and an answer is better than a broken connection.
    """

    asgi: Starlette
    give_up: Callable[[], None]


def create_app(
    engine: Engine,
    *,
    limits: Limits,
    deadline_seconds: float,
    log: Log,
    api_key: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> App:
    """Build the application over an engine that was started elsewhere.

    Parameters
    ----------
    engine:
        Serves the requests and says how it is.
    limits:
        What one request may hold.
    deadline_seconds:
        How long after its arrival a request is answered at the latest.
    log:
        Gets one `request` line for every request for decisions and every one that is refused; so not for /ping, which
        SageMaker asks every few seconds.
    api_key:
        What every request but /ping must bring. Default: none is asked for.
    clock:
        Monotonic seconds, the same as the engine's. Default: the system's.
    """
    metrics = Metrics()

    def done(record: RequestRecord) -> None:
        metrics.observe(record)
        record.write_to(log)

    def turned_away(request: Request, problem: Problem) -> Response:
        done(
            RequestRecord(
                request_id=uuid.uuid4().hex, path=_known_path(request), status=problem.status, outcome=problem.outcome
            )
        )
        return refused(_contract_of(request).refusal(problem), problem)

    answering = Answering(engine, limits, deadline_seconds=deadline_seconds, done=done, clock=clock)
    description = describe(limits)

    async def answer_invocation(request: Request) -> Response:
        return await answering.answer(request, INVOCATIONS)

    async def answer_systemone(request: Request) -> Response:
        return await answering.answer(request, SYSTEM_ONE)

    async def list_models(request: Request) -> Response:
        health = engine.health()
        if not health.serving:
            return turned_away(request, problem_of(NotServing(health)))
        return encoded_response(systemone_answer.encode_models(engine.identity))

    async def tell_metrics(request: Request) -> Response:
        text = metrics.text(in_flight=answering.in_flight, waiting=engine.waiting)
        return Response(text, headers={"content-type": CONTENT_TYPE})

    async def tell_description(request: Request) -> Response:
        return encoded_response(description)

    async def ping(request: Request) -> Response:
        health = engine.health()
        if health.serving:
            return json_response(HTTPStatus.OK, {"status": health.state})
        return json_response(HTTPStatus.SERVICE_UNAVAILABLE, {"status": health.state, "error": health.reason})

    async def refuse(request: Request, refusal: Exception) -> Response:
        http = cast(HTTPException, refusal)
        text = _ROUTING_ERRORS.get(http.status_code, http.detail)
        return turned_away(request, http_problem(http.status_code, text, http.headers))

    async def internal_error(request: Request, failure: Exception) -> Response:
        log.write("internal_error", reason=type(failure).__name__, where=where(failure))
        text = "the adapter failed at this request, see its log"
        problem = Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", text)
        return refused(_contract_of(request).refusal(problem), problem)

    key = BearerKey(api_key)

    def guarded(handler: Handler) -> Handler:
        async def guard(request: Request) -> Response:
            problem = key.problem(request)
            return await handler(request) if problem is None else turned_away(request, problem)

        return guard

    asgi = Starlette(
        routes=[
            Route(INVOCATIONS.path, guarded(answer_invocation), methods=["POST"]),
            Route(SYSTEM_ONE.path, guarded(answer_systemone), methods=["POST"]),
            Route(MODELS, guarded(list_models), methods=["GET"]),
            Route(METRICS, guarded(tell_metrics), methods=["GET"]),
            Route(OPENAPI, guarded(tell_description), methods=["GET"]),
            Route(PING, ping, methods=["GET"]),
        ],
        exception_handlers={HTTPException: refuse, Exception: internal_error},
    )
    # A redirect from "/ping/" would be followed by nobody.
    asgi.router.redirect_slashes = False
    return App(asgi, answering.give_up)


def _known_path(request: Request) -> str:
    # Any other path is text of the caller's.
    known = (INVOCATIONS.path, SYSTEM_ONE.path, MODELS, METRICS, OPENAPI, PING)
    return request.url.path if request.url.path in known else "other"


def _contract_of(request: Request) -> Contract:
    """Whose words a problem is told in: System One's where its clients look, else ours."""
    return SYSTEM_ONE if request.url.path.startswith("/v1/") else INVOCATIONS
