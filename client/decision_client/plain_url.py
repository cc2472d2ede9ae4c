"""The way to an adapter by its URL, without AWS: on this machine, or within a network of one's own."""

from __future__ import annotations

import time
from collections.abc import Iterator
from http import HTTPStatus
from urllib.parse import urlsplit

import urllib3
from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError, ReadTimeoutError

from decision_client.failures import AttemptFailed, Failure, Kind, from_container, shorten
from decision_client.sagemaker import CONNECT_TIMEOUT_SECONDS, READ_TIMEOUT_SECONDS

_ROUTE = "/invocations"
_PIECE_BYTES = 65_536


class AdapterUrl:
    """Sends to an adapter's `/invocations`, over one pool of connections; no proxy is asked.

    Parameters
    ----------
    url:
        Where the adapter listens, such as ``http://127.0.0.1:8080``.
    key:
        What its `DECISION_API_KEY` is. Default: none is sent.
    max_concurrency:
        How many connections are kept.

    Raises
    ------
    ValueError
        If the URL or the key is none.
    """

    def __init__(self, url: str, *, key: str | None, max_concurrency: int) -> None:
        self.address = _checked(url).rstrip("/").removesuffix(_ROUTE)
        self.title = f"the adapter at {self.address}"
        headers = {"Content-Type": "application/json", "Accept": "application/json", "Accept-Encoding": "identity"}
        if key is not None:
            if not key.isascii() or not key.isprintable() or key != key.strip() or not key:
                raise ValueError("the key is empty, or has characters that no HTTP header carries: check it")
            headers["Authorization"] = f"Bearer {key}"
        self._headers = headers
        self._pool = urllib3.PoolManager(maxsize=max_concurrency, retries=False)

    def send(self, body: bytes, *, seconds: float) -> bytes:
        """Post the body once; the adapter drops the request of a caller who gives up."""
        patience = max(0.001, min(READ_TIMEOUT_SECONDS, seconds))
        try:
            response = self._pool.request(
                "POST",
                self.address + _ROUTE,
                body=body,
                headers=self._headers,
                timeout=urllib3.Timeout(connect=min(CONNECT_TIMEOUT_SECONDS, patience), read=patience),
                # A redirect would take the key elsewhere.
                redirect=False,
                preload_content=False,
                decode_content=False,
            )
            answer = b"".join(self._pieces(response, time.monotonic() + patience))
        except (HTTPError, OSError, ValueError) as error:
            raise AttemptFailed(Failure(Kind.UNAVAILABLE, self._no_connection(error, patience))) from error
        if response.status != HTTPStatus.OK:
            raise AttemptFailed(self._read(response.status, answer))
        return answer

    def close(self) -> None:
        """End the connections."""
        self._pool.clear()

    def _pieces(self, response: urllib3.BaseHTTPResponse, end: float) -> Iterator[bytes]:
        whole = False
        try:
            for piece in response.stream(_PIECE_BYTES):
                # The timeout is one of silence: an answer that drips would never end.
                if time.monotonic() > end:
                    raise TimeoutError("the answer came too slowly")
                yield piece
            whole = True
        finally:
            if whole:
                response.release_conn()
            else:
                response.close()

    def _read(self, status: int, answer: bytes) -> Failure:
        told = from_container(self.title, status, answer.decode("utf-8", "replace"))
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return Failure(
                Kind.UNAVAILABLE,
                f"{self.title} does not let this caller in ({told.sentence}): give its key with key=, or in "
                "DECISION_API_KEY to `decisions invoke`",
                status,
            )
        if status in (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED) or status < 400:
            return Failure(
                Kind.UNAVAILABLE,
                f"no adapter answers at {self.address}{_ROUTE} (HTTP {status}): check the URL",
                status,
            )
        return told

    def _no_connection(self, error: Exception, patience: float) -> str:
        if isinstance(error, ConnectTimeoutError | NewConnectionError):
            return f"nobody answers at {self.address} ({shorten(error)}): start the adapter, or check the URL"
        if isinstance(error, ReadTimeoutError | TimeoutError):
            return f"{self.title} gave no answer within {patience:.1f} s"
        return f"{self.title} gave no readable answer: {shorten(error)}"


def _checked(url: str) -> str:
    try:
        parts = urlsplit(url)
        port_is_one = parts.port is None or parts.port > 0
    except ValueError:
        port_is_one = False
    if not port_is_one or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is no URL of an adapter: write it as http://HOST:PORT or https://HOST")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("the URL has a user, a query or a fragment: leave them out, and give a key with key=")
    return url
