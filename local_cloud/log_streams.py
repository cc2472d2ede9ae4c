"""Write to CloudWatch Logs as an AWS service itself would: the group and the stream appear with the first line."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from ministack.services import cloudwatch_logs  # type: ignore[import-untyped]

_writing = threading.Lock()


def write(group: str, stream: str, lines: Sequence[str]) -> None:
    """Append lines, stamped with the present time, to a stream of the current account and region.

    Call it in the context of a request or in a thread that `ministack_seams.in_background` started.
    """
    if not lines:
        return
    now = int(time.time() * 1000)
    with _writing:
        _make(group, stream)
        cloudwatch_logs._put_log_events(
            {
                "logGroupName": group,
                "logStreamName": stream,
                "logEvents": [{"timestamp": now, "message": line} for line in lines],
            }
        )


def _make(group: str, stream: str) -> None:
    if group not in cloudwatch_logs._log_groups:
        cloudwatch_logs._create_log_group({"logGroupName": group})
    if stream not in cloudwatch_logs._log_groups[group]["streams"]:
        cloudwatch_logs._create_log_stream({"logGroupName": group, "logStreamName": stream})
