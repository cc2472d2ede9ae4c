"""The engine without a server around it, and the AWS sample's method on it: ``python -m tests.bench.engine_alone``.

Both use the adapter's own binding and write the adapter's own prompts, so that what differs is the method alone:

- ``POST /v1/systemone`` answers as the AWS sample does: the state is evaluated once and saved, and every question
  restores it into an emptied memory and evaluates its suffix behind it. Nothing is kept for the next request.
- ``POST /raw`` evaluates the prompt of the body's first question at once, from an empty memory: raw prefill; and then
  the suffix alone behind the state, for a token there has more to attend to than one at the beginning.
- ``POST /plan`` says how many tokens the adapter evaluates for a body.

It answers one request after the other, which is all the sample's server does too.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from decision_adapter.errors import EngineFailed
from decision_adapter.llama import Context, Model, load_library
from decision_adapter.plan import Plan, Planner
from decision_adapter.profile import DEFAULT_PROFILE
from decision_adapter.prompt import PromptWriter
from decision_adapter.slots import read_slots
from decision_adapter.wire import Limits, systemone

_SEQUENCE = 0


class RestoringContext(Context):
    """A context whose sequence can be saved to bytes and brought back, as the AWS sample does for every question."""

    def __init__(self, model: Model, *, n_ctx_seq: int, n_threads: int) -> None:
        super().__init__(model, n_seq_max=2, n_ctx_seq=n_ctx_seq, n_threads=n_threads)
        c, sizes = model.library.c, ctypes.c_size_t
        for name, arguments in {
            "llama_state_seq_get_size": (ctypes.c_void_p, ctypes.c_int32),
            "llama_state_seq_get_data": (ctypes.c_void_p, ctypes.c_void_p, sizes, ctypes.c_int32),
            "llama_state_seq_set_data": (ctypes.c_void_p, ctypes.c_void_p, sizes, ctypes.c_int32),
        }.items():
            getattr(c, name).argtypes = arguments
            getattr(c, name).restype = sizes

    def save(self) -> ctypes.Array[ctypes.c_char]:
        """The sequence as it is."""
        state = ctypes.create_string_buffer(self._c.llama_state_seq_get_size(self._handle, _SEQUENCE))
        if not self._c.llama_state_seq_get_data(self._handle, state, len(state), _SEQUENCE):
            raise EngineFailed("llama.cpp could not save a sequence")
        return state

    def restore(self, state: ctypes.Array[ctypes.c_char]) -> None:
        """Bring a saved sequence back into an emptied memory."""
        self._c.llama_memory_clear(self._memory, False)
        if not self._c.llama_state_seq_set_data(self._handle, state, len(state), _SEQUENCE):
            raise EngineFailed("llama.cpp could not restore a sequence")


class EngineAlone:
    """The loaded model, and what each route does with a body."""

    def __init__(self, engine_dir: Path, model: Path, *, threads: int, context_tokens: int) -> None:
        started = time.perf_counter()
        self._model = Model(load_library(engine_dir), model)
        self._context = RestoringContext(self._model, n_ctx_seq=context_tokens, n_threads=threads)
        self.load_seconds = time.perf_counter() - started
        writer = PromptWriter(self._model, DEFAULT_PROFILE, max_tokens=context_tokens)
        self._planner = Planner(writer, max_tokens=context_tokens, truncates=True)
        self.version = self._model.library.version

    def answer(self, body: bytes) -> dict[str, Any]:
        """The AWS sample's method."""
        plan, context = self._plan(body), self._context
        prefix = plan.prefix.tokens
        context.clear()
        context.decode(_SEQUENCE, prefix, position=0)
        saved = context.save()
        answers, evaluated = {}, len(prefix)
        for decision, branch in zip(plan.decisions, plan.branches, strict=True):
            context.restore(saved)
            context.decode(_SEQUENCE, branch.prompt.suffix, position=len(prefix))
            reading = read_slots(context.logits(), [slot.token_id for slot in branch.prompt.slots])
            answers[decision.decision.id] = reading.probabilities
            evaluated += len(branch.prompt.suffix)
        return {"answers": answers, "evaluated": evaluated}

    def raw(self, body: bytes) -> dict[str, Any]:
        """Raw prefill, from the beginning and at the state's end."""
        plan, context = self._plan(body), self._context
        prefix, suffix = plan.prefix.tokens, plan.branches[0].tokens
        tokens = prefix + plan.branches[0].prompt.suffix
        context.clear()
        seconds = _timed(lambda: context.decode(_SEQUENCE, tokens, position=0), context)
        cut = plan.branches[0].cut
        behind = 0.0
        if cut:
            context.truncate(_SEQUENCE, cut)
            behind = _timed(lambda: context.decode(_SEQUENCE, suffix, position=cut), context)
        return {
            "tokens": len(tokens),
            "seconds": seconds,
            "behind_tokens": len(suffix) if cut else 0,
            "behind_seconds": behind,
        }

    def plan(self, body: bytes) -> dict[str, Any]:
        """What the adapter evaluates."""
        plan = self._plan(body)
        return {
            "prefix": len(plan.prefix.tokens) if plan.needs_prefix else 0,
            "branches": sum(len(branch.tokens) for branch in plan.branches),
            "suffixes": sum(len(branch.prompt.suffix) for branch in plan.branches),
        }

    def _plan(self, body: bytes) -> Plan:
        return self._planner.plan(systemone.decode(body, Limits(max_decisions=64, max_options=255)).request)


def _timed(work: Callable[[], None], context: Context) -> float:
    started = time.perf_counter()
    work()
    context.logits()  # what waits for the evaluation
    return time.perf_counter() - started


def main() -> None:
    """Serve BENCH_MODEL on the engine of BENCH_ENGINE_DIR until the process that started this one is gone."""
    engine = EngineAlone(
        Path(os.environ["BENCH_ENGINE_DIR"]),
        Path(os.environ["BENCH_MODEL"]),
        threads=int(os.environ["BENCH_THREADS"]),
        context_tokens=int(os.environ["BENCH_CONTEXT_TOKENS"]),
    )
    routes = {"/v1/systemone": engine.answer, "/raw": engine.raw, "/plan": engine.plan}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            answer = json.dumps(routes[self.path](self.rfile.read(int(self.headers["Content-Length"])))).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class names it so
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    ready = {"event": "ready", "load_seconds": engine.load_seconds, "version": engine.version}
    for event in ({"event": "listening", "port": server.server_port}, ready):
        print(json.dumps(event), flush=True)
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    server.serve_forever()


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
