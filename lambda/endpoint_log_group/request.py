"""What the template asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

GROUPS = "/aws/sagemaker/Endpoints/"


@dataclass(frozen=True)
class LogGroupRequest:
    """A log group as it should be: `retention_days` None keeps lines for ever, `key_arn` None is CloudWatch's own key.

    `retain` says that lines outlive the stack: then only a group that a failed create has just made may be deleted.
    """

    name: str
    retention_days: int | None
    key_arn: str | None
    retain: bool


def read_request(properties: Mapping[str, object]) -> LogGroupRequest:
    """Read `ResourceProperties`, where every value is text; ValueError names the property that is wrong."""
    name = str(properties.get("LogGroupName"))
    if not name.startswith(GROUPS):
        raise ValueError(f"property LogGroupName is {name!r:.200}: give {GROUPS}<endpoint name>")
    days = str(properties.get("RetentionDays"))
    if not days.isdecimal() and days != "":
        raise ValueError(f"property RetentionDays is {days!r:.100}: give a whole number, or nothing for ever")
    retain = str(properties.get("Retain"))
    if retain not in ("true", "false"):
        raise ValueError(f"property Retain is {retain!r:.100}: give true or false")
    return LogGroupRequest(
        name=name,
        retention_days=int(days) if days else None,
        key_arn=str(properties.get("KeyArn") or "") or None,
        retain=retain == "true",
    )
