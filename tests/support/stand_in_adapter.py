"""A container for tests: an HTTP server whose behaviour its environment and its requests choose.

Environment: REFUSE=reason (log it as the adapter does and exit 3), NEVER_READY (stay, and answer /ping with 503),
READY_AFTER_FILE (/ping answers 503 while that file is missing). A request is a JSON object, all of it optional:
"status", "body" and "type" of the answer, "seconds" until it comes, "until" which file exists, "arrived" (a file
to make when the request is here), "exit" or "unhealthy" instead. A model.gguf that reads "corrupt" is never served.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

unhealthy = threading.Event()


class Container(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        awaited = os.environ.get("READY_AFTER_FILE")
        ready = not os.environ.get("NEVER_READY") and not unhealthy.is_set()
        ready = ready and (awaited is None or Path(awaited).exists())
        self.answer(200 if ready else 503, b"", "text/plain")

    def do_POST(self) -> None:
        asked: dict[str, Any] = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        if asked.get("exit"):
            os._exit(9)
        if asked.get("unhealthy"):
            unhealthy.set()
        if "arrived" in asked:
            Path(asked["arrived"]).touch()
        while "until" in asked and not Path(asked["until"]).exists():
            time.sleep(0.01)
        time.sleep(asked.get("seconds", 0))
        body = asked.get("body", self.description())
        self.answer(asked.get("status", 200), body.encode(), asked.get("type", "application/json"))

    def description(self) -> str:
        folder = Path(os.environ["DECISION_MODEL_DIR"])
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        return json.dumps(
            {
                "pid": os.getpid(),
                "environment": dict(os.environ),
                "headers": {name.lower(): value for name, value in self.headers.items()},
                "files": {str(path.relative_to(folder)): path.read_text("utf-8") for path in files},
                "modes": sorted({oct(path.stat().st_mode & 0o777) for path in files}),
            }
        )

    def answer(self, status: int, body: bytes, content_type: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Private", "stays here")
        self.send_header(
            "X-Amzn-SageMaker-Custom-Attributes", self.headers.get("X-Amzn-SageMaker-Custom-Attributes", "")
        )
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = False  # closing waits for requests in flight
    request_queue_size = 128


def main() -> None:
    print("container is starting", flush=True)
    if reason := os.environ.get("REFUSE"):
        print(json.dumps({"event": "model_refused", "reason": reason}), flush=True)
        if not os.environ.get("NEVER_READY"):
            sys.exit(3)
    model = Path(os.environ["DECISION_MODEL_DIR"]) / "model.gguf"
    if model.exists() and model.read_bytes() == b"corrupt":
        print(json.dumps({"event": "model_refused", "reason": "model.gguf is corrupt"}), flush=True)
        unhealthy.set()
    server = Server((os.environ["DECISION_HOST"], int(os.environ["SAGEMAKER_BIND_TO_PORT"])), Container)
    signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
    server.serve_forever(poll_interval=0.02)
    server.server_close()
    print("container has stopped", flush=True)


if __name__ == "__main__":
    main()
