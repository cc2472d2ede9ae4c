"""Reading a request's body: how large, how long, in which coding. Nothing here takes a place in the queue."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from starlette.requests import Request

from decision_adapter.coding import LIMIT_BYTES, BodyRefused, decoder_of, too_large

# SageMaker's proxy sends a body it already has in full; a client that needs longer than this is gone.
READ_TIMEOUT_SECONDS = 15.0


async def read_body(request: Request, *, timeout_seconds: float = READ_TIMEOUT_SECONDS) -> bytes:
    """The decoded body of a JSON request.

    Parameters
    ----------
    request:
        Its body has not been touched.
    timeout_seconds:
        How long the whole body may take to arrive. Default: 15 s.

    Raises
    ------
    BodyRefused
        415 for a content type other than JSON or a coding other than gzip and zstd, 413 over 6,291,456 bytes as sent or
        decoded, 408 for a body that does not arrive, 400 for gzip or zstd data that is broken.
    ClientDisconnect
        If the client went away meanwhile.
    """
    _require_json(request)
    decode = decoder_of(request.headers.getlist("content-encoding"))
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > LIMIT_BYTES:
        raise too_large("the body")
    try:
        async with asyncio.timeout(timeout_seconds):
            body = await _receive(request)
    except TimeoutError:
        raise BodyRefused(
            HTTPStatus.REQUEST_TIMEOUT,
            f"the body did not arrive within {timeout_seconds:g} s: send it at once",
            # Where the next request begins on this connection is unknown.
            headers={"connection": "close"},
        ) from None
    return decode(body)


def _require_json(request: Request) -> None:
    found = request.headers.get("content-type", "")
    media_type, *parameters = (part.strip().lower() for part in found.split(";"))
    charsets = [part.removeprefix("charset=").strip('"') for part in parameters if part.startswith("charset=")]
    if media_type != "application/json" or any(charset not in ("utf-8", "utf8", "us-ascii") for charset in charsets):
        shown = repr(found[:80]) if found else "missing"
        raise BodyRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type is {shown}: send application/json in UTF-8")


async def _receive(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise too_large("the body")
    return bytes(body)
