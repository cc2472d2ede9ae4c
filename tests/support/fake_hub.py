"""A Hugging Face on this machine: real HTTP, with ranges, and ways to go wrong on purpose."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

_RANGE = re.compile(r"bytes=(\d+)-")


@dataclass(frozen=True)
class Answer:
    """What the hub answers to one request.

    `body` is sent instead of the file, `cut` is how many bytes of it are sent before the connection closes. `ranges`
    and `length` say whether the hub knows ranges and tells how long its answer is.
    """

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    ranges: bool = True
    length: bool = True


class FakeHub:
    """Serves `files`, by path, on a port of its own; the answers in `script` come first, then `otherwise`."""

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = files or {}
        self.script: list[Answer] = []
        self.otherwise = Answer()
        self.requests: list[tuple[str, dict[str, str]]] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                hub._answer(self)

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def header(self, name: str) -> list[str | None]:
        """What each request said in a header."""
        return [headers.get(name.lower()) for _, headers in self.requests]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.requests.append((request.path, headers))
        answer = self.script.pop(0) if self.script else self.otherwise
        content = answer.body if answer.body is not None else self.files.get(request.path)
        if content is None:
            answer, content = Answer(404), b"Entry not found"
        status, sent = answer.status, dict(answer.headers)
        asked = _RANGE.fullmatch(headers.get("range", ""))
        if asked and answer.ranges and status == 200:
            start = int(asked[1])
            status = 206 if start < len(content) else 416
            sent["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            content = content[start:]
        if answer.length:
            sent["Content-Length"] = str(len(content))
        request.send_response_only(status)
        for name, value in sent.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(content if answer.cut is None else content[: answer.cut])
