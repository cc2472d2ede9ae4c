"""Load for the soak: requests whose right answers are known, sent by many clients on a schedule of their own."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

_PATH = "/invocations"
_PATIENCE_SECONDS = 90
_GROUPS = ("billing team", "shipping team", "technical support", "account security")


@dataclass(frozen=True)
class Asked:
    """One request of a pool: its decisions, without ids, and the probabilities that are right for them."""

    decisions: tuple[dict[str, Any], ...]
    probabilities: tuple[tuple[float, ...], ...] = ()

    def body(self, number: int) -> bytes:
        """The request with ids that no other request has: an answer that was meant for another shows."""
        ids = self.ids(number)
        asked = [{"id": id, **decision} for id, decision in zip(ids, self.decisions, strict=True)]
        return json.dumps({"decisions": asked}).encode()

    def ids(self, number: int) -> list[str]:
        """The ids of request `number`."""
        return [f"{number}-{index}" for index in range(len(self.decisions))]


@dataclass(frozen=True)
class Outcome:
    """What became of one request; `problem` says what was wrong with it, if anything was."""

    status: int
    seconds: float
    problem: str | None = None


BROKEN = 0
"""The status of a request whose connection ended without an answer."""
NOT_REACHED = -1
"""The status of a request that found nobody listening."""


def pool(size: int, *, decisions: int, seed: str = "soak", lines: int = 8) -> tuple[Asked, ...]:
    """Requests about so many different states; the right answers are not known yet, see `learned`."""
    texts = random.Random(seed)  # noqa: S311  texts, not secrets

    def asked() -> Asked:
        state = "\n".join(f"Entry {texts.randint(1000, 9999)}: code {texts.randint(100, 999)}." for _ in range(lines))
        return Asked(
            tuple(
                {
                    "state": state,
                    "question": f"Who takes case {texts.randint(100, 999)}?",
                    "options": [{"id": group, "description": group} for group in texts.sample(_GROUPS, 4)],
                }
                for _ in range(decisions)
            )
        )

    return tuple(asked() for _ in range(size))


def learned(port: int, asked: Asked) -> Asked:
    """The same request with the answer that a server which is not busy gives; no answer may differ from it later."""
    status, _, answer = _send(port, asked.body(0))
    if status != http.client.OK:
        raise RuntimeError(f"a server that is not busy answered {status}: {answer[:500]!r}")
    results = json.loads(answer)["results"]
    return Asked(asked.decisions, tuple(tuple(result["probabilities"]) for result in results))


def send(port: int, asked: Asked, number: int) -> Outcome:
    """Send request `number` on a connection of its own, and judge what comes back."""
    started = time.perf_counter()
    try:
        status, headers, answer = _send(port, asked.body(number))
    except ConnectionRefusedError:
        return Outcome(NOT_REACHED, time.perf_counter() - started)
    except (OSError, http.client.HTTPException) as error:
        return Outcome(BROKEN, time.perf_counter() - started, f"no answer: {type(error).__name__}")
    seconds = time.perf_counter() - started
    return Outcome(status, seconds, problem_of(status, headers, answer, asked, number))


def problem_of(status: int, headers: dict[str, str], answer: bytes, asked: Asked, number: int) -> str | None:
    """What is wrong with an answer: it is another's, it is not exact, or it is no proper refusal."""
    if status == http.client.OK:
        results = json.loads(answer)["results"]
        if [result["id"] for result in results] != asked.ids(number):
            return "the answer is another request's"
        if tuple(tuple(result["probabilities"]) for result in results) != asked.probabilities:
            return "the answer differs from the one of a server that is not busy"
        return None
    if status == http.client.SERVICE_UNAVAILABLE:
        told = json.loads(answer)
        if told.get("retryable") is not True or not told.get("retry_after_ms") or "retry-after" not in headers:
            return "a 503 does not say when to come back"
        return None
    return f"status {status}"


class Clients:
    """So many clients, each with one request at a time, which it sends when its next moment has come.

    Parameters
    ----------
    port:
        Where the server listens.
    requests:
        The pool; every client goes through it from another place on.
    count:
        How many clients.
    per_second:
        Requests a second of all clients together, as long as they are answered sooner than a client's next is due.
    """

    def __init__(self, port: int, requests: Sequence[Asked], *, count: int, per_second: float) -> None:
        self._port = port
        self._requests = requests
        self._count = count
        self._interval = count / per_second
        self._lock = threading.Lock()
        self.outcomes: list[Outcome] = []

    def run(self, seconds: float, meanwhile: Callable[[], None] = lambda: None) -> float:
        """Send for so long, with `meanwhile` on this thread; returns how long it took until the last answer."""
        started = time.perf_counter()
        threads = [
            threading.Thread(target=self._client, args=(number, started, started + seconds), daemon=True)
            for number in range(self._count)
        ]
        for thread in threads:
            thread.start()
        meanwhile()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started

    def _client(self, client: int, started: float, end: float) -> None:
        due = started + self._interval * client / self._count
        turn = 0
        while due < end:
            time.sleep(max(0.0, due - time.perf_counter()))
            asked = self._requests[(client + turn) % len(self._requests)]
            outcome = send(self._port, asked, client * 1_000_000 + turn)
            with self._lock:
                self.outcomes.append(outcome)
            if outcome.status == NOT_REACHED:
                return
            turn += 1
            due = max(due + self._interval, time.perf_counter())


def _send(port: int, body: bytes) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_SECONDS)
    try:
        connection.request("POST", _PATH, body, {"Content-Type": "application/json", "Connection": "close"})
        response = connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
    finally:
        connection.close()
