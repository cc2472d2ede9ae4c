"""`python -m local_cloud.chat_stand_in` serves as AWS's llama.cpp container does, on 127.0.0.1 and
`SAGEMAKER_BIND_TO_PORT`.
"""

from __future__ import annotations

import os
import signal
import sys
import threading

import xllamacpp  # type: ignore[import-untyped]

from local_cloud.chat_stand_in.options import ArgumentError, apply
from local_cloud.chat_stand_in.proxy import Proxy
from local_cloud.chat_stand_in.settings import arguments

_DEFAULT_PORT = 8080


def main() -> None:
    """Load and serve until SIGTERM; requests in flight are finished first. What llama-server refuses ends it."""
    command_line = arguments(os.environ)
    print(f"stand-in for llama-server {' '.join(map(str, command_line))}", flush=True)
    try:
        params, left_out = apply(command_line)
    except ArgumentError as error:
        sys.exit(str(error))
    for argument in left_out:
        print(f"the stand-in leaves out {argument}", flush=True)
    if params.n_gpu_layers > 0:
        sys.exit(f"{params.n_gpu_layers} layers are to be offloaded, and the local cloud has no GPU: give 0 here")
    params.hostnames, params.port, params.ui = ["127.0.0.1"], 0, False
    proxy = Proxy("127.0.0.1", int(os.environ.get("SAGEMAKER_BIND_TO_PORT") or _DEFAULT_PORT))
    try:
        # Until this returns, SIGTERM ends the process as it is: nothing is in flight.
        server = xllamacpp.Server(params)
    except RuntimeError as error:
        sys.exit(f"llama-server did not start: {error}")
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    proxy.serve_from(server.listening_address)
    stop.wait()
    proxy.finish()


if __name__ == "__main__":
    main()
