"""Who hears of what."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

from pydantic import model_validator

from decision_endpoints import AlarmThresholds
from decision_endpoints.alarm_topic import address_complaints
from decision_endpoints.errors import did_you_mean

from .section import Section


class Alarms(Section):
    """Where alarms go, and thresholds other than the constructs' own; null turns an alarm off."""

    emails: list[str] | None = None
    thresholds: dict[str, float | int | None] | None = None

    @model_validator(mode="after")
    def _reach_somebody(self) -> Self:
        if complaints := address_complaints(self.emails or []):
            raise ValueError(f"emails: {'; '.join(complaints)}")
        return self

    @model_validator(mode="after")
    def _are_in_range(self) -> Self:
        known = [field.name for field in fields(AlarmThresholds)]
        unknown = [name for name in self.thresholds or {} if name not in known]
        if unknown:
            raise ValueError("; ".join(f"{name} is no threshold: {did_you_mean(name, known)}" for name in unknown))
        self.alarm_thresholds()
        return self

    def alarm_thresholds(self) -> AlarmThresholds:
        """As the alarms take them."""
        given: dict[str, Any] = dict(self.thresholds or {})
        return AlarmThresholds(**given)
