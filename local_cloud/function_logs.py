"""A function that was deleted writes no more lines, so that the log group which was deleted after it stays deleted.

The emulator writes a call's lines when the call is over, and makes the group if there is none. A custom resource has
answered by then, and the deletion of its stack has gone on without it.
"""

from __future__ import annotations

from typing import Any

from ministack.services import lambda_svc  # type: ignore[import-untyped]


def install() -> None:
    """Write the lines of functions that exist."""
    write = lambda_svc._emit_lambda_logs

    def write_if_it_exists(function: dict[str, Any], *arguments: object, **options: object) -> None:
        config = function.get("config") or function
        if config.get("FunctionName") in lambda_svc._functions:
            write(function, *arguments, **options)

    lambda_svc._emit_lambda_logs = write_if_it_exists
