"""JSON answers, and the problems that a contract then gives its own shape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus

import msgspec
from starlette.exceptions import HTTPException
from starlette.responses import Response

from decision_adapter.errors import Busy, EngineFailed, PromptTooLong, RequestRefused, TooManyOptions
from decision_adapter.health import Health
from decision_adapter.wire import Problem, Refusal

# When to ask again if nothing is known of how long it takes.
UNAVAILABLE_RETRY_MS = 2000

_ERROR_TYPES: dict[int, str] = {
    HTTPStatus.UNAUTHORIZED: "authentication_error",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.REQUEST_TIMEOUT: "request_timeout",
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: "request_too_large",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
}


class NotServing(Exception):
    """The engine is loading, refused its model or failed."""

    def __init__(self, health: Health) -> None:
        super().__init__(f"not serving: {health.reason}")
        self.retryable = health.retryable


# What problem_of() knows; anything else is a defect.
EXPECTED = (HTTPException, RequestRefused, Busy, NotServing, EngineFailed)


def problem_of(failure: Exception) -> Problem:
    """What one of `EXPECTED` means to the caller."""
    match failure:
        case HTTPException():
            return http_problem(failure.status_code, failure.detail, failure.headers)
        case PromptTooLong():
            return Problem(HTTPStatus.BAD_REQUEST, "max_tokens_exceeded", str(failure))
        case TooManyOptions():
            # Only the engine knows how many slots there are, and it knows nothing of a body.
            place = ("questions", failure.decision_id, "criteria")
            return Problem(HTTPStatus.BAD_REQUEST, "validation_error", str(failure), place, failure.kind)
        case RequestRefused():
            return Problem(HTTPStatus.BAD_REQUEST, "validation_error", str(failure), failure.place, failure.kind)
        case Busy():
            return _unavailable("overloaded", str(failure), failure.retry_after_ms, outcome="busy")
        case NotServing():
            after = UNAVAILABLE_RETRY_MS if failure.retryable else None
            return _unavailable("not_ready", str(failure), after, outcome="unavailable")
        case EngineFailed():
            text = f"the engine gave no answer: {failure}"
            return Problem(HTTPStatus.INTERNAL_SERVER_ERROR, "engine_failed", text, outcome="failed")
    raise TypeError(f"{type(failure).__name__} is no expected failure") from failure


def http_problem(status: int, message: str, headers: Mapping[str, str] | None = None) -> Problem:
    """A problem of HTTP's own."""
    return Problem(status, _ERROR_TYPES.get(status, "invalid_request"), message, headers=headers or {})


def _unavailable(error_type: str, message: str, retry_after_ms: int | None, *, outcome: str) -> Problem:
    headers: dict[str, str] = {}
    if retry_after_ms is not None:
        # Seconds are HTTP's, milliseconds what System One's SDK looks for first.
        headers = {"retry-after": str(math.ceil(retry_after_ms / 1000)), "retry-after-ms": str(retry_after_ms)}
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        error_type,
        message,
        retryable=retry_after_ms is not None,
        retry_after_ms=retry_after_ms,
        headers=headers,
        outcome=outcome,
    )


def refused(refusal: Refusal, problem: Problem) -> Response:
    """The answer to a request that has none."""
    return json_response(refusal.status, refusal.body, headers=problem.headers)


def json_response(status: int, body: object, *, headers: Mapping[str, str] | None = None) -> Response:
    """A value as JSON."""
    return encoded_response(msgspec.json.encode(body), status=status, headers=headers)


def encoded_response(body: bytes, *, status: int = HTTPStatus.OK, headers: Mapping[str, str] | None = None) -> Response:
    """JSON that is written already."""
    return Response(body, status_code=status, media_type="application/json", headers=dict(headers or {}))
