"""Content codings of a body: gzip and zstd, decoded without ever holding much more than a body may have."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Protocol

from starlette.exceptions import HTTPException

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

# What SageMaker's runtime takes as a body (6 MB); the decoded body is held to the same.
LIMIT_BYTES = 6_291_456

_GZIP_WINDOW = 16 + zlib.MAX_WBITS

# 8 MB of memory, the least that every decoder should take (RFC 8878, 3.1.1.1.2), and more than a body may need.
_ZSTD_WINDOW_LOG = 23

Decode = Callable[[bytes], bytes]


class BodyRefused(HTTPException):
    """The body cannot be taken; `status_code` and `detail` are the answer."""


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


def decoder_of(content_encoding: Sequence[str]) -> Decode:
    """What turns a body with these Content-Encoding headers into what was meant.

    Raises
    ------
    BodyRefused
        415 for another coding than gzip and zstd; from the decoder, 413 over the limit and 400 for broken data.
    """
    found = ", ".join(content_encoding).strip().lower()
    decode = _DECODERS.get(found)
    if decode is None:
        raise BodyRefused(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            f"Content-Encoding is {found[:80]!r}: send gzip, zstd, or the body as it is",
            headers={"accept-encoding": "gzip, zstd"},
        )
    return decode


def too_large(what: str) -> BodyRefused:
    """The refusal of a body over the limit."""
    return BodyRefused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"{what} has more than {LIMIT_BYTES} bytes: send fewer decisions at a time or a shorter state",
    )


def _gunzip(body: bytes) -> bytes:
    return _decompress("gzip", zlib.decompressobj(_GZIP_WINDOW), body)


def _unzstd(body: bytes) -> bytes:
    decompressor = ZstdDecompressor(options={DecompressionParameter.window_log_max: _ZSTD_WINDOW_LOG})
    return _decompress("zstd", decompressor, body)


def _decompress(name: str, decompressor: _Decompressor, body: bytes) -> bytes:
    """Decode one gzip member or zstd frame, never holding more than one byte over the limit."""
    try:
        decoded = decompressor.decompress(body, LIMIT_BYTES + 1)
    except (zlib.error, ZstdError):
        raise BodyRefused(
            HTTPStatus.BAD_REQUEST, f"Content-Encoding is {name}, and the body is not, or asks for too large a window"
        ) from None
    if len(decoded) > LIMIT_BYTES:
        raise too_large("the decoded body")
    if not decompressor.eof:
        raise BodyRefused(HTTPStatus.BAD_REQUEST, f"the {name} data of the body ends early")
    # Several in a row would be legal, and no client sends them.
    if decompressor.unused_data:
        raise BodyRefused(
            HTTPStatus.BAD_REQUEST,
            f"the body goes on after the end of its {name} data: send one {_UNITS[name]}",
        )
    return decoded


_UNITS = {"gzip": "gzip member", "zstd": "zstd frame"}

_DECODERS: dict[str, Decode] = {
    "": bytes,
    "identity": bytes,
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "zstd": _unzstd,
}
