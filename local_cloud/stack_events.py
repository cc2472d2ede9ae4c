"""Events of a stack in the order they happened, for tools that sort them by time.

The emulator makes many events in one millisecond, the resolution of their times; the CDK CLI, which gets them newest
first and sorts them, would then show a resource complete before it is in progress.
"""

from __future__ import annotations

import datetime

from ministack.services.cloudformation import stacks  # type: ignore[import-untyped]

_MILLISECOND = datetime.timedelta(milliseconds=1)

_latest = datetime.datetime.min.replace(tzinfo=datetime.UTC)


def install() -> None:
    """Give each event a time of its own."""
    stacks.now_iso = _next_time


def _next_time() -> str:
    """The present time, or a millisecond after the last one given, in the form of an AWS timestamp."""
    global _latest
    _latest = max(datetime.datetime.now(datetime.UTC), _latest + _MILLISECOND)
    return _latest.isoformat(timespec="milliseconds").replace("+00:00", "Z")
