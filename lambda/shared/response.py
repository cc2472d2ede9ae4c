"""Answering CloudFormation, which waits an hour for an answer that does not come.

Source: CloudFormation user guide, "Custom resource response objects": PUT to `ResponseURL`, at most 4,096 bytes.
"""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

REASON_LIMIT_BYTES = 900
ANSWER_LIMIT_BYTES = 4096
_ATTEMPTS = 4
_ATTEMPT_SECONDS = 3.0


def success(event: Mapping[str, Any], physical_id: str, data: Mapping[str, str]) -> bytes:
    """The answer that lets the stack go on, with the attributes of the resource."""
    return _encode(event, physical_id, {"Status": "SUCCESS", "Data": data})


def failure(event: Mapping[str, Any], physical_id: str, reason: str) -> bytes:
    """The answer that stops the stack, with the reason that its event shows, cut to `REASON_LIMIT_BYTES`."""
    cut = printable(reason).encode()[:REASON_LIMIT_BYTES].decode(errors="ignore")
    return _encode(event, physical_id, {"Status": "FAILED", "Reason": cut})


def printable(text: str) -> str:
    """The text with blanks for what is no character to show.

    In JSON a control character takes six bytes, and a lone surrogate could not be sent at all.
    """
    return "".join(character if character.isprintable() else " " for character in text)


def send(url: str, answer: bytes) -> None:
    """PUT the answer, with several attempts within 15 seconds; then OSError makes Lambda run it all again."""
    # The signature of a presigned URL covers an empty content type, and urllib would add one of its own.
    request = urllib.request.Request(url, data=answer, method="PUT", headers={"content-type": ""})  # noqa: S310
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            with urllib.request.urlopen(request, timeout=_ATTEMPT_SECONDS):  # noqa: S310 - CloudFormation's own URL
                return
        except (OSError, http.client.HTTPException) as error:
            print(f"attempt {attempt} of {_ATTEMPTS} to answer CloudFormation failed: {error}")
            if attempt == _ATTEMPTS:
                raise
            time.sleep(0.5 * attempt)


def _encode(event: Mapping[str, Any], physical_id: str, answer: Mapping[str, object]) -> bytes:
    body = {
        **answer,
        "PhysicalResourceId": physical_id,
        **{name: event[name] for name in ("StackId", "RequestId", "LogicalResourceId")},
    }
    encoded = json.dumps(body, ensure_ascii=False).encode()
    if len(encoded) > ANSWER_LIMIT_BYTES:
        raise ValueError(f"an answer of {len(encoded)} bytes: CloudFormation takes at most {ANSWER_LIMIT_BYTES}")
    return encoded
