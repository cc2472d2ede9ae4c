"""What a failed attempt means, and whether asking again can help."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Any, Protocol

_LONGEST_SENTENCE = 400


class Kind(Enum):
    """What a failure says of the next attempt."""

    REFUSED = "the request is wrong"
    BUSY = "the container has no place now"
    NOT_REACHED = "no container saw the request"
    UNAVAILABLE = "asking again does not help"


@dataclass(frozen=True)
class Failure:
    """One failed attempt.

    `sentence` is for the caller; `status` is the container's own HTTP status where there is one, else SageMaker's;
    `retry_after_seconds` is when the container wants to be asked again, if it says so.
    """

    kind: Kind
    sentence: str
    status: int = 0
    retry_after_seconds: float | None = None

    @property
    def passes(self) -> bool:
        """Whether the same request may be answered later."""
        return self.kind in (Kind.BUSY, Kind.NOT_REACHED)


class AttemptFailed(Exception):
    """A transport got no answer."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.sentence)
        self.failure = failure


class Transport(Protocol):
    """A way to an endpoint. One object serves all threads.

    `title` names the endpoint within a sentence, `address` tells it from every other of the process.
    """

    title: str
    address: str

    def send(self, body: bytes, *, seconds: float) -> bytes:
        """Send a request's body once and return the answer's.

        `seconds` is how long the caller waits; a transport that cannot give up in the middle waits longer.

        Raises
        ------
        AttemptFailed
            Whatever else happens.
        """

    def close(self) -> None:
        """End the connections."""


def from_container(title: str, status: int, body: str, *, log: str = "") -> Failure:
    """What a container's own answer means that is no 2xx; `log` is where its log is, if that is known."""
    told = _object(body)
    said = told.get("error")
    sentence = said if isinstance(said, str) and said.strip() else shorten(body)
    # What says nothing of retries is a proxy, or the AWS sample's container: busy as well.
    if status == HTTPStatus.SERVICE_UNAVAILABLE and told.get("retryable", True) is not False:
        return Failure(Kind.BUSY, sentence or "HTTP 503", status, _retry_after(told.get("retry_after_ms")))
    if 400 <= status < 500:
        return Failure(Kind.REFUSED, sentence or f"HTTP {status}", status)
    where = f"; its log is {log}" if log else ""
    # Without a status the container gave no answer at all within SageMaker's 60 seconds.
    how = f"failed with HTTP {status}" if status else "gave no answer"
    return Failure(Kind.UNAVAILABLE, f"{title} {how}: {sentence or 'it does not say why'}{where}", status)


def shorten(text: object) -> str:
    """One line of a length that can be read."""
    # Ten times as many characters hold the words, and a page of a proxy may be far longer.
    words = " ".join(str(text)[: 10 * _LONGEST_SENTENCE].split()).rstrip(".")
    return words if len(words) <= _LONGEST_SENTENCE else f"{words[:_LONGEST_SENTENCE]}…"


def _object(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _retry_after(milliseconds: object) -> float | None:
    """The container's hint in seconds, or None where it is no sensible number."""
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, (int, float)):
        return None
    try:
        seconds = milliseconds / 1000
    except OverflowError:
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None
