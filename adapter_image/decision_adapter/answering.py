"""Requests for decisions, from their arrival to their answer and its log line, whatever their contract."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from decision_adapter.admission import prompt_bytes
from decision_adapter.body import read_body
from decision_adapter.engine import Engine, Served
from decision_adapter.errors import Busy
from decision_adapter.request_log import RequestRecord, milliseconds
from decision_adapter.responses import (
    EXPECTED,
    UNAVAILABLE_RETRY_MS,
    NotServing,
    encoded_response,
    problem_of,
    refused,
)
from decision_adapter.wire import Asked, Limits, Problem, Refusal, Timing

READ_AT_ONCE_BYTES = 64 * 1024

# Never sent: what proxies write into their logs for a client that went away.
CLIENT_GONE = 499


@dataclass(frozen=True)
class Contract:
    """One route's shape: how a body is read, and how a problem is told. An answer knows its own shape, see `Asked`."""

    path: str
    decode: Callable[[bytes, Limits], Asked]
    refusal: Callable[[Problem], Refusal]


class Answering:
    """Answers requests with the engine's help.

    Parameters
    ----------
    engine:
        Serves the requests and says how it is.
    limits:
        What one request may hold.
    deadline_seconds:
        How long after its arrival a request is answered at the latest.
    done:
        Told what became of a request, once for each.
    clock:
        Monotonic seconds, the same as the engine's.
    """

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        *,
        deadline_seconds: float,
        done: Callable[[RequestRecord], None],
        clock: Callable[[], float],
    ) -> None:
        self._engine = engine
        self._limits = limits
        self._deadline_seconds = deadline_seconds
        self._done = done
        self._clock = clock
        self._waiting: set[asyncio.Future[Served]] = set()
        self._giving_up = False
        self.in_flight = 0

    def give_up(self) -> None:
        """Answer all that still wait with 503."""
        self._giving_up = True
        for future in self._waiting:
            future.cancel()

    async def answer(self, request: Request, contract: Contract) -> Response:
        """Answer one request."""
        arrived = self._clock()
        record = RequestRecord(request_id=uuid.uuid4().hex, path=contract.path)
        self.in_flight += 1
        try:
            response = await self._answered_or_refused(request, contract, arrived, record)
        except ClientDisconnect:
            record.status, record.outcome = CLIENT_GONE, "gone"
            return Response()  # to a closed connection
        else:
            record.status = response.status_code
            return response
        finally:
            self.in_flight -= 1
            record.total_ms = milliseconds(self._clock() - arrived)
            self._done(record)

    async def _answered_or_refused(
        self, request: Request, contract: Contract, arrived: float, record: RequestRecord
    ) -> Response:
        try:
            return await self._answered(request, contract, arrived, record)
        except EXPECTED as failure:
            problem = problem_of(failure)
            record.outcome = problem.outcome
            return refused(contract.refusal(problem), problem)

    async def _answered(self, request: Request, contract: Contract, arrived: float, record: RequestRecord) -> Response:
        body = await read_body(request)
        asked, size = await self._read(body, contract)
        record.decisions = len(asked.request.decisions)
        health = self._engine.health()
        if not health.serving:
            raise NotServing(health)
        if self._giving_up:
            raise _stopping()
        deadline = arrived + self._deadline_seconds
        future = asyncio.wrap_future(self._engine.submit(asked.request, size=size, deadline=deadline))
        served = await self._wait(request, future, deadline)
        _note(record, served)
        timing = Timing(queue_seconds=served.queue_seconds, total_seconds=self._clock() - arrived)
        return encoded_response(asked.encode(served.scored, self._engine.identity, timing))

    async def _read(self, body: bytes, contract: Contract) -> tuple[Asked, int]:
        def read() -> tuple[Asked, int]:
            asked = contract.decode(body, self._limits)
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
