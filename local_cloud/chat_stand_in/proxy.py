"""What the container's own proxy does: SageMaker's two paths become llama-server's, others pass through."""

from __future__ import annotations

import http.client
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_PATHS = {"/ping": "/health", "/invocations": "/v1/chat/completions"}
_NOT_PASSED = ("connection", "host", "keep-alive", "transfer-encoding")
_CHUNK_BYTES = 1 << 16


class Proxy(ThreadingHTTPServer):
    """Listens at once, and answers 503 until `serve_from` says where llama-server is."""

    daemon_threads = False  # closing waits for requests in flight
    request_queue_size = 128

    def __init__(self, host: str, port: int) -> None:
        super().__init__((host, port), _Passage)
        self.server: tuple[str, int] | None = None
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def serve_from(self, address: str) -> None:
        """Pass requests on to `http://host:port`."""
        host, _, port = address.rpartition("/")[2].partition(":")
        self.server = (host, int(port))

    def finish(self) -> None:
        """Take no more requests, and wait for those in flight."""
        self.shutdown()
        self.server_close()


class _Passage(BaseHTTPRequestHandler):
    server: Proxy

    def do_GET(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        self._pass_on()

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        target = self.server.server
        if target is None:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, b'{"error":{"code":503,"message":"Loading model"}}')
            return
        connection = http.client.HTTPConnection(*target)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED}
            connection.request(self.command, _PATHS.get(self.path, self.path), body, headers)
            self._copy(connection.getresponse())
        except (ConnectionError, http.client.HTTPException):
            self._answer(HTTPStatus.BAD_GATEWAY, b"llama-server does not answer")
        finally:
            connection.close()

    def _copy(self, response: http.client.HTTPResponse) -> None:
        """Piece by piece, as they come: an answer may be a stream. Its end is the end of the connection."""
        self.send_response(response.status)
        for name, value in response.getheaders():
            if name.lower() not in _NOT_PASSED:
                self.send_header(name, value)
        self.end_headers()
        while piece := response.read1(_CHUNK_BYTES):
            self.wfile.write(piece)

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass
