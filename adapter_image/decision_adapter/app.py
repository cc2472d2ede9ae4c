"""The HTTP face: POST /invocations and GET /ping, as SageMaker calls them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, cast

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from decision_adapter.admission import prompt_bytes
from decision_adapter.body import read_body
from decision_adapter.engine import Engine, Served
from decision_adapter.errors import Busy, EngineFailed, RequestRefused
from decision_adapter.request_log import Log, RequestRecord, milliseconds, where
from decision_adapter.wire import Limits, Timing, semif

INVOCATIONS = "/invocations"
PING = "/ping"

# When to ask again if nothing is known of how long it takes.
UNAVAILABLE_RETRY_MS = 2000

READ_AT_ONCE_BYTES = 64 * 1024

# Never sent: what proxies write into their logs for a client that went away.
CLIENT_GONE = 499


class _NotServing(Exception):
    """The engine is loading, refused its model or failed."""

    def __init__(self, reason: str, *, retryable: bool) -> None:
        super().__init__(reason)
        self.retryable = retryable


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
        Gets one `request` line for every request except /ping, which SageMaker asks every few seconds.
    clock:
        Monotonic seconds, the same as the engine's. Default: the system's.
    """
    invocations = _Invocations(engine, limits, deadline_seconds, log, clock)

    async def ping(request: Request) -> Response:
        health = engine.health()
        if health.serving:
            return _json(HTTPStatus.OK, {"status": health.state})
        return _json(HTTPStatus.SERVICE_UNAVAILABLE, {"status": health.state, "error": health.reason})

    async def refuse(request: Request, refusal: Exception) -> Response:
        http = cast(HTTPException, refusal)
        text = _ROUTING_ERRORS.get(http.status_code, http.detail)
        RequestRecord(
            request_id=uuid.uuid4().hex, path=_known_path(request), status=http.status_code, outcome="refused"
        ).write_to(log)
        return _json(http.status_code, {"error": text}, headers=http.headers)

    async def internal_error(request: Request, failure: Exception) -> Response:
        log.write("internal_error", reason=type(failure).__name__, where=where(failure))
        return _json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": "the adapter failed at this request, see its log"})

    asgi = Starlette(
        routes=[Route(INVOCATIONS, invocations.handle, methods=["POST"]), Route(PING, ping, methods=["GET"])],
        exception_handlers={HTTPException: refuse, Exception: internal_error},
    )
    # A redirect from "/ping/" would be followed by nobody.
    asgi.router.redirect_slashes = False
    return App(asgi, invocations.give_up)


_ROUTING_ERRORS: dict[int, str] = {
    HTTPStatus.NOT_FOUND: f"no such path: there are POST {INVOCATIONS} and GET {PING}",
    HTTPStatus.METHOD_NOT_ALLOWED: f"this method is not allowed here: use POST {INVOCATIONS} or GET {PING}",
}


def _known_path(request: Request) -> str:
    # Any other path is text of the caller's.
    return request.url.path if request.url.path in (INVOCATIONS, PING) else "other"


class _Invocations:
    """Requests for decisions, from their arrival to their answer and its log line."""

    def __init__(
        self, engine: Engine, limits: Limits, deadline_seconds: float, log: Log, clock: Callable[[], float]
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._deadline_seconds = deadline_seconds
        self._log = log
        self._clock = clock
        self._waiting: set[asyncio.Future[Served]] = set()
        self._giving_up = False

    def give_up(self) -> None:
        """Answer all that still wait with 503."""
        self._giving_up = True
        for future in self._waiting:
            future.cancel()

    async def handle(self, request: Request) -> Response:
        """Answer one request."""
        arrived = self._clock()
        record = RequestRecord(request_id=uuid.uuid4().hex, path=INVOCATIONS)
        try:
            response = await self._answer(request, arrived, record)
        except ClientDisconnect:
            record.status, record.outcome = CLIENT_GONE, "gone"
            return Response()  # to a closed connection
        else:
            record.status = response.status_code
            return response
        finally:
            record.total_ms = milliseconds(self._clock() - arrived)
            record.write_to(self._log)

    async def _answer(self, request: Request, arrived: float, record: RequestRecord) -> Response:
        try:
            return await self._scored(request, arrived, record)
        except HTTPException as refusal:
            record.outcome = "refused"
            return _json(refusal.status_code, {"error": refusal.detail}, headers=refusal.headers)
        except RequestRefused as refusal:
            record.outcome = "refused"
            return _json(HTTPStatus.BAD_REQUEST, {"error": str(refusal)})
        except Busy as busy:
            record.outcome = "busy"
            return _retry(str(busy), retryable=True, after_ms=busy.retry_after_ms)
        except _NotServing as unavailable:
            record.outcome = "unavailable"
            return _retry(str(unavailable), retryable=unavailable.retryable, after_ms=UNAVAILABLE_RETRY_MS)
        except EngineFailed as failure:
            record.outcome = "failed"
            return _json(HTTPStatus.INTERNAL_SERVER_ERROR, {"error": f"the engine gave no answer: {failure}"})

    async def _scored(self, request: Request, arrived: float, record: RequestRecord) -> Response:
        body = await read_body(request)
        asked, size = await self._read(body)
        record.decisions = len(asked.request.decisions)
        health = self._engine.health()
        if not health.serving:
            raise _NotServing(f"not serving: {health.reason}", retryable=health.retryable)
        if self._giving_up:
            raise _stopping()
        deadline = arrived + self._deadline_seconds
        future = asyncio.wrap_future(self._engine.submit(asked.request, size=size, deadline=deadline))
        served = await self._wait(request, future, deadline)
        _note(record, served)
        timing = Timing(total_seconds=self._clock() - arrived)
        return _json_bytes(HTTPStatus.OK, semif.encode(asked, served.scored, self._engine.identity, timing))

    async def _read(self, body: bytes) -> tuple[semif.SemifRequest, int]:
        def read() -> tuple[semif.SemifRequest, int]:
            asked = semif.decode(body, self._limits)
            return asked, prompt_bytes(asked.request)

        # Millions of tiny values take seconds to read, and /ping must be answered meanwhile.
        return read() if len(body) <= READ_AT_ONCE_BYTES else await asyncio.to_thread(read)

    async def _wait(self, request: Request, future: asyncio.Future[Served], deadline: float) -> Served:
        """The answer, unless the client goes away, the deadline passes or the process ends before it is there."""
        gone = asyncio.create_task(_client_gone(request))
        self._waiting.add(future)
        try:
            either: list[asyncio.Future[Any]] = [future, gone]
            left = max(0.0, deadline - self._clock())
            await asyncio.wait(either, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if future.cancelled():
                raise _stopping()
            if future.done():
                return future.result()
            if gone.done():
                raise ClientDisconnect
            raise Busy(f"the answer was not ready within {self._deadline_seconds:g} s: ask again", UNAVAILABLE_RETRY_MS)
        finally:
            self._waiting.discard(future)
            gone.cancel()
            # Frees the place at once if its turn has not come; an evaluation in progress is given up soon.
            future.cancel()


def _stopping() -> Busy:
    return Busy("the server is stopping: ask again, another instance will answer", UNAVAILABLE_RETRY_MS)


async def _client_gone(request: Request) -> None:
    # After the body, the only thing left to receive is the disconnect.
    while (await request.receive())["type"] != "http.disconnect":
        continue


def _note(record: RequestRecord, served: Served) -> None:
    scored = served.scored
    record.outcome = "answered"
    record.queue_ms = milliseconds(served.queue_seconds)
    record.prefix_ms = milliseconds(scored.prefix_seconds)
    record.suffix_ms = milliseconds(scored.suffix_seconds)
    record.input_tokens = sum(score.input_tokens for score in scored.scores)
    record.cached_tokens = scored.cached_tokens
    record.slot_mass = min(score.slot_mass for score in scored.scores)


def _retry(text: str, *, retryable: bool, after_ms: int) -> Response:
    # In the body, because SageMaker passes no header of the container on.
    body: dict[str, str | bool | int] = {"error": text, "retryable": retryable}
    if retryable:
        body["retry_after_ms"] = after_ms
    return _json(HTTPStatus.SERVICE_UNAVAILABLE, body)


def _json(status: int, body: object, *, headers: object = None) -> Response:
    return _json_bytes(status, msgspec.json.encode(body), headers=headers)


def _json_bytes(status: int, body: bytes, *, headers: object = None) -> Response:
    return Response(
        body, status_code=status, media_type="application/json", headers=cast("dict[str, str] | None", headers)
    )
