"""What a failed `InvokeEndpoint` means, and whether asking again can help.

SageMaker wraps a container's own refusal: what a container answers other than 2xx comes back as `ModelError`, HTTP 424,
with the container's status in `OriginalStatusCode` and its body in `OriginalMessage`. A busy container is therefore a
424 that no SDK retries (Amazon SageMaker API reference, InvokeEndpoint, "Errors").
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from botocore.exceptions import ClientError

_LONGEST_SENTENCE = 400
# Errors of SageMaker itself that say that no container saw the request, so that asking again deepens no queue.
_NOT_REACHED = {"ModelNotReadyException", "ServiceUnavailable", "ServiceUnavailableException", "ThrottlingException"}
_NOT_ALLOWED = {
    "AccessDenied",
    "AccessDeniedException",
    "ExpiredTokenException",
    "InvalidSignatureException",
    "UnrecognizedClientException",
}


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
    status: int
    retry_after_seconds: float | None = None

    @property
    def passes(self) -> bool:
        """Whether the same request may be answered later."""
        return self.kind in (Kind.BUSY, Kind.NOT_REACHED)


def read_failure(endpoint_name: str, error: ClientError) -> Failure:
    """Say what a failed call to the endpoint means."""
    response: Any = error.response
    code = str(response.get("Error", {}).get("Code", ""))
    message = str(response.get("Error", {}).get("Message", "")).strip()
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    if code == "ModelError":
        return _read_container(endpoint_name, response, message)
    if code in _NOT_REACHED:
        return Failure(Kind.NOT_REACHED, f"endpoint {endpoint_name!r} takes no requests now: {message or code}", status)
    if code in _NOT_ALLOWED:
        return Failure(
            Kind.UNAVAILABLE,
            f"these credentials may not invoke endpoint {endpoint_name!r} ({message or code}): sign in again, or have "
            "sagemaker:InvokeEndpoint granted on it",
            status,
        )
    if code == "ValidationError" and "not found" in message.lower():
        return Failure(
            Kind.UNAVAILABLE,
            f"there is no endpoint {endpoint_name!r} here ({message}): check its name, the region and the account",
            status,
        )
    if 400 <= status < 500:
        return Failure(Kind.REFUSED, message or code, status)
    return Failure(
        Kind.UNAVAILABLE, f"endpoint {endpoint_name!r} failed: {message or code or f'HTTP {status}'}", status
    )


def _read_container(endpoint_name: str, response: Any, message: str) -> Failure:
    status = int(response.get("OriginalStatusCode") or 0)
    original = str(response.get("OriginalMessage") or "")
    body = _object(original)
    said = body.get("error")
    sentence = said if isinstance(said, str) and said else _shorten(original or message)
    if status == 503 and body.get("retryable", True) is not False:
        return Failure(Kind.BUSY, sentence, status, _retry_after(body.get("retry_after_ms")))
    if 400 <= status < 500:
        return Failure(Kind.REFUSED, sentence, status)
    log = response.get("LogStreamArn")
    where = f"; its log is {log}" if log else ""
    # Without a status the container gave no answer at all within SageMaker's 60 seconds.
    how = f"failed with HTTP {status}" if status else "gave no answer"
    return Failure(Kind.UNAVAILABLE, f"endpoint {endpoint_name!r} {how}: {sentence}{where}", status)


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
    if not math.isfinite(milliseconds) or milliseconds < 0:
        return None
    return milliseconds / 1000


def _shorten(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_SENTENCE else f"{words[:_LONGEST_SENTENCE]}…"
