"""The peer: llama.cpp's own server, in PyPI's xllamacpp, as a process: ``python -m tests.bench.llama_server``.

It says on stdout where it listens, in the words of the adapter's log, and ends with the process that started it. Its
settings are llama-server's defaults but for those that must be as the adapter's to compare anything (threads, one
physical batch of 512) or that this workload needs: a unified buffer, which lets its slots share a state, with room for
as much as the adapter keeps.
"""

from __future__ import annotations

import json
import os
import sys
import time

import xllamacpp  # type: ignore[import-untyped]


def main() -> None:
    """Serve BENCH_MODEL with BENCH_THREADS, BENCH_PARALLEL and BENCH_CONTEXT_TOKENS."""
    # What the library prints goes to stderr: stdout is for the two lines that are read.
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    parent = os.getppid()
    server = xllamacpp.Server(_params())
    port = int(server.listening_address.rpartition(":")[2].strip("/"))
    for event in ({"event": "listening", "port": port}, {"event": "ready", "build": xllamacpp.__version__}):
        told.write(f"{json.dumps(event)}\n")
    told.flush()
    while os.getppid() == parent:
        time.sleep(1)
    sys.stderr.flush()
    # Its destructor waits for connections that are still open.
    os._exit(0)


def _params() -> xllamacpp.CommonParams:
    params = xllamacpp.CommonParams()
    threads = int(os.environ["BENCH_THREADS"])
    params.model.path = os.environ["BENCH_MODEL"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_parallel = int(os.environ["BENCH_PARALLEL"])
    params.n_ctx = int(os.environ["BENCH_CONTEXT_TOKENS"])
    params.kv_unified = True
    params.n_batch, params.n_ubatch = 2048, 512
    params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
    params.endpoint_metrics, params.verbosity = True, 0
    return params


if __name__ == "__main__":
    main()
