"""SHA-256 of bytes that are read once, in order, in bounded memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

CHUNK_BYTES = 1 << 20
"""How much is read at a time (1 MiB): large enough that Python costs nothing beside SHA-256, and small."""

_SHA256_HEX = re.compile(r"[0-9a-fA-F]{64}")


class HashCancelled(Exception):
    """The caller of `hash_file` asked to stop; there is no digest."""


@dataclass(frozen=True)
class Digest:
    """The SHA-256 (64 lower-case hexadecimal digits) of something, and how many bytes it has."""

    sha256: str
    bytes: int


def parse_sha256(text: str, *, what: str = "digest") -> str:
    """The digest in lower case, as everything here compares it.

    Parameters
    ----------
    text:
        64 hexadecimal digits, in any case: tools disagree about it.
    what:
        What the error calls it. Default: "digest".

    Raises
    ------
    ValueError
        If it is anything else. An ETag or a base64 checksum of S3 is no digest of the file.

    Examples
    --------
    >>> parse_sha256("B179C952" * 8)[:16]
    'b179c952b179c952'
    >>> parse_sha256("b179", what="pin of model.gguf")
    Traceback (most recent call last):
    ValueError: pin of model.gguf is 'b179' (4 characters), a SHA-256 has 64 hexadecimal digits: use `sha256sum`
    """
    if not isinstance(text, str) or not _SHA256_HEX.fullmatch(text):
        shown = text if not isinstance(text, str) or len(text) <= 80 else f"{text[:80]}…"
        length = f" ({len(text)} characters)" if isinstance(text, str) else ""
        raise ValueError(f"{what} is {shown!r}{length}, a SHA-256 has 64 hexadecimal digits: use `sha256sum`")
    return text.lower()


def hash_chunks(chunks: Iterable[bytes]) -> Digest:
    """The digest of the chunks' concatenation.

    >>> hash_chunks([b"GG", b"UF"]) == hash_chunks([b"GGUF"])
    True
    """
    digest = hashlib.sha256()
    count = 0
    for chunk in chunks:
        digest.update(chunk)
        count += len(chunk)
    return Digest(digest.hexdigest(), count)


def hash_file(
    path: Path,
    *,
    on_progress: Callable[[int], None] | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> Digest:
    """The digest of a file.

    Parameters
    ----------
    path:
        The file.
    on_progress:
        Called after every MiB with the number of bytes hashed so far. Default: nobody is told.
    cancelled:
        Asked before every MiB; hashing stops when it says True. Default: never.

    Raises
    ------
    HashCancelled
        If `cancelled` said so.
    OSError
        If the file cannot be read.
    """
    with path.open("rb", buffering=0) as file:

        def chunks() -> Iterator[bytes]:
            done = 0
            while True:
                if cancelled is not None and cancelled():
                    raise HashCancelled(f"hashing {path} was stopped after {done} bytes")
                chunk = file.read(CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk
                done += len(chunk)
                if on_progress is not None:
                    on_progress(done)

        return hash_chunks(chunks())
