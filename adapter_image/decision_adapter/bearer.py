"""The optional key: `Authorization: Bearer …`, compared without telling by its time how much of it was right."""

from __future__ import annotations

import hashlib
import hmac
from http import HTTPStatus

from starlette.requests import HTTPConnection

from decision_adapter.responses import http_problem
from decision_adapter.wire import Problem

_CHALLENGE = {"www-authenticate": "Bearer"}


class BearerKey:
    """Says whether a request brings the key; without a key, every request does, whatever its header says."""

    def __init__(self, key: str | None) -> None:
        # A digest: comparing two of the same length does not tell the length of the key either.
        self._digest = None if key is None else _digest(key)

    def problem(self, request: HTTPConnection) -> Problem | None:
        """Why the request is not let in, if it is not."""
        if self._digest is None:
            return None
        header = request.headers.get("authorization")
        if header is None:
            return http_problem(
                HTTPStatus.UNAUTHORIZED,
                "a key is needed: send `Authorization: Bearer` and the key (behind SageMaker, which passes no such "
                "header on and asks for AWS credentials itself, leave DECISION_API_KEY out)",
                _CHALLENGE,
            )
        scheme, _, key = header.partition(" ")
        if scheme.lower() == "bearer" and hmac.compare_digest(_digest(key.strip()), self._digest):
            return None
        return http_problem(HTTPStatus.UNAUTHORIZED, "the key is not the one of this server: check it", _CHALLENGE)


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
