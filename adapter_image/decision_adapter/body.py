"""Reading a request's body: how large, how long, in which coding. Nothing here takes a place in the queue."""

from __future__ import annotations

import asyncio
import zlib
from http import HTTPStatus

from starlette.exceptions import HTTPException
from starlette.requests import Request

# What SageMaker's runtime takes as a body (6 MB); the decoded body is held to the same.
LIMIT_BYTES = 6_291_456

# SageMaker's proxy sends a body it already has in full; a client that needs longer than this is gone.
READ_TIMEOUT_SECONDS = 15.0

_GZIP_WINDOW = 16 + zlib.MAX_WBITS


class BodyRefused(HTTPException):
    """The body cannot be taken; `status_code` and `detail` are the answer."""


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
        415 for a content type other than JSON or a coding other than gzip, 413 over 6,291,456 bytes as sent or decoded,
        408 for a body that does not arrive, 400 for gzip data that is broken.
    ClientDisconnect
        If the client went away meanwhile.
    """
    _require_json(request)
    coding = _coding(request)
    declared = request.headers.get("content-length", "")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > LIMIT_BYTES:
        raise _too_large("the body")
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
    return _gunzip(body) if coding == "gzip" else body


def _require_json(request: Request) -> None:
    found = request.headers.get("content-type", "")
    media_type, *parameters = (part.strip().lower() for part in found.split(";"))
    charsets = [part.removeprefix("charset=").strip('"') for part in parameters if part.startswith("charset=")]
    if media_type != "application/json" or any(charset not in ("utf-8", "utf8", "us-ascii") for charset in charsets):
        shown = repr(found[:80]) if found else "missing"
        raise BodyRefused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Content-Type is {shown}: send application/json in UTF-8")


def _coding(request: Request) -> str:
    found = ", ".join(request.headers.getlist("content-encoding")).strip().lower()
    if found in ("", "identity"):
        return "identity"
    if found in ("gzip", "x-gzip"):
        return "gzip"
    raise BodyRefused(
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
        f"Content-Encoding is {found[:80]!r}: send gzip, or the body as it is",
        headers={"accept-encoding": "gzip"},
    )


async def _receive(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LIMIT_BYTES:
            raise _too_large("the body")
    return bytes(body)


def _gunzip(body: bytes) -> bytes:
    """Decode one gzip member, never holding more than one byte over the limit."""
    member = zlib.decompressobj(_GZIP_WINDOW)
    try:
        decoded = member.decompress(body, LIMIT_BYTES + 1)
    except zlib.error:
        raise BodyRefused(HTTPStatus.BAD_REQUEST, "Content-Encoding is gzip, and the body is not") from None
    if len(decoded) > LIMIT_BYTES:
        raise _too_large("the decoded body")
    if not member.eof:
        raise BodyRefused(HTTPStatus.BAD_REQUEST, "the gzip data of the body ends early")
    # A second member would be legal, and no client sends one.
    if member.unused_data:
        raise BodyRefused(
            HTTPStatus.BAD_REQUEST, "the body goes on after the end of its gzip data: send one gzip member"
        )
    return decoded


def _too_large(what: str) -> BodyRefused:
    return BodyRefused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"{what} has more than {LIMIT_BYTES} bytes: send fewer decisions at a time or a shorter state",
    )
