"""The time after an update's switch in which its alarms may still undo it.

Every update here shifts all traffic at once, whatever its policy says, and then watches its alarms for as long as the
policy would have it, but no longer than a few seconds.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from local_cloud.aws_model import JsonObject
from local_cloud.cloudwatch import alarms

VARIABLE = "LOCAL_CLOUD_BAKE_SECONDS"
_DEFAULT_SECONDS = 3.0
_LOOK_SECONDS = 0.2


@dataclass(frozen=True)
class Watch:
    """Which alarms are watched, and for how long after the switch."""

    names: Sequence[str]
    seconds: float

    @classmethod
    def of(cls, deployment: JsonObject | None) -> Watch:
        """What a deployment configuration says; without alarms there is nothing to wait for."""
        names = alarm_names(deployment)
        return cls(names, min(_policy_seconds(deployment or {}), bake_cap()) if names else 0.0)

    def wait(self, cancelled: threading.Event) -> str | None:
        """Watch; the sentence that says which alarm went off, or None if none did."""
        end = time.monotonic() + self.seconds
        while self.names:
            ringing = alarms.in_alarm(list(self.names))
            if ringing:
                listed = ", ".join(ringing)
                return f"One or more alarms specified in the deployment configuration are in ALARM state: {listed}."
            if time.monotonic() >= end or cancelled.wait(_LOOK_SECONDS):
                return None
        return None


def alarm_names(deployment: JsonObject | None) -> list[str]:
    """The names of the alarms that may undo an update."""
    found = (deployment or {}).get("AutoRollbackConfiguration", {}).get("Alarms", [])
    return [str(alarm["AlarmName"]) for alarm in found]


def bake_cap() -> float:
    """The most seconds that an update watches its alarms. Default: 3.

    Raises
    ------
    ValueError
        If `LOCAL_CLOUD_BAKE_SECONDS` is no number of seconds.
    """
    text = os.environ.get(VARIABLE) or str(_DEFAULT_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"{VARIABLE} is {text!r}; give a number of seconds, or unset it for {_DEFAULT_SECONDS:g}")
    return seconds


def _policy_seconds(deployment: JsonObject) -> float:
    blue_green = deployment.get("BlueGreenUpdatePolicy", {})
    routing = blue_green.get("TrafficRoutingConfiguration", {})
    steps = 100 // routing["LinearStepSize"]["Value"] if "LinearStepSize" in routing else 1
    waits = [
        steps * routing.get("WaitIntervalInSeconds", 0),
        blue_green.get("TerminationWaitInSeconds", 0),
        deployment.get("RollingUpdatePolicy", {}).get("WaitIntervalInSeconds", 0),
    ]
    return float(sum(waits))
