"""When an alarm of an endpoint goes off."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import InvalidArguments

# The adapter writes a line of its own only about answers under this (decision_adapter.request_log.LOW_SLOT_MASS).
_MOST_SLOT_MASS = 0.5
# SageMaker ends an invocation after this.
_LONGEST_SECONDS = 60
# Periods of five minutes, and an alarm looks back one day at most.
_PERIOD_MINUTES = 5
_LONGEST_MINUTES = 1440


@dataclass(frozen=True, kw_only=True)
class AlarmThresholds:
    """The thresholds of `EndpointAlarms`; None turns an alarm off.

    Parameters
    ----------
    busy_percent:
        Requests answered with a busy 503, in percent of all. Default: 10. A few under a burst are what the queue's
        bound is for, and callers retry them; one in ten, for minutes, means that there are too few instances.
    other_5xx_percent:
        Requests answered with another 5xx or not at all, in percent of all. Default: 5. Nothing retries these.
    latency_p50_seconds, latency_p95_seconds, latency_p99_seconds:
        What the container takes, above 0 to 60. Default: 10, 30 and 45. It refuses what it cannot answer within 50 s,
        so 45 is the edge of that; the others tell a general slowness from a few long requests. Lower them to what your
        callers wait for.
    queue_p95_seconds:
        How long answered requests waited for their turn, above 0 to 60. Default: 20. Past that, requests are about to
        be refused.
    load_failures:
        Containers in five minutes that did not get their model loaded. Default: 1. Each is an instance that never
        serves, and a wrong digest means that somebody changed stored bytes.
    offload_failures:
        Containers in five minutes with fewer layers on a GPU than were asked for, or without a GPU. Default: 1. They do
        not serve, since they would be many times slower.
    low_slot_mass_percent:
        Answered requests whose slot mass is under `slot_mass`, in percent of all answered. Default: 5.
    slot_mass:
        Which share of the probability on the options is low, above 0 to 0.5. Default: 0.1. Under that, nine parts in
        ten fell on text that is no option, so the probabilities say little: a wrong model, profile or template.
    fallback_instances:
        Instances of another type than the pool's first. Default: 1. Decisions are the same there, speed and price are
        not.
    at_maximum_minutes:
        How long as many instances ran as scaling allows, 5 to 1440 in steps of 5. Default: 30. The next increase of
        traffic has nowhere to go; less than half an hour may be an update, which runs two fleets for a while.
    no_traffic_minutes:
        How long nobody asked, 5 to 1440 in steps of 5. Default: None, since nights and weekends are quiet.

    Raises
    ------
    InvalidArguments
        If anything is out of range; all complaints at once.

    Examples
    --------
    >>> AlarmThresholds(latency_p99_seconds=5, no_traffic_minutes=60).queue_p95_seconds
    20
    >>> AlarmThresholds(busy_percent=0, slot_mass=0.9)
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: AlarmThresholds: busy_percent is 0: ...; slot_mass is 0.9: ...
    """

    busy_percent: float | None = 10
    other_5xx_percent: float | None = 5
    latency_p50_seconds: float | None = 10
    latency_p95_seconds: float | None = 30
    latency_p99_seconds: float | None = 45
    queue_p95_seconds: float | None = 20
    load_failures: int | None = 1
    offload_failures: int | None = 1
    low_slot_mass_percent: float | None = 5
    slot_mass: float = 0.1
    fallback_instances: int | None = 1
    at_maximum_minutes: int | None = 30
    no_traffic_minutes: int | None = None

    def __post_init__(self) -> None:
        complaints = [
            *_above_zero(self, ("busy_percent", "other_5xx_percent", "low_slot_mass_percent"), most=100),
            *_above_zero(
                self,
                ("latency_p50_seconds", "latency_p95_seconds", "latency_p99_seconds", "queue_p95_seconds"),
                most=_LONGEST_SECONDS,
            ),
            *_above_zero(self, ("slot_mass",), most=_MOST_SLOT_MASS),
            *[
                f"{name} is {count!r}: give a whole number from 1, or None for no alarm"
                for name in ("load_failures", "offload_failures", "fallback_instances")
                if (count := getattr(self, name)) is not None and not (isinstance(count, int) and count >= 1)
            ],
            *[
                f"{name} is {minutes!r}: give {_PERIOD_MINUTES} to {_LONGEST_MINUTES} in steps of {_PERIOD_MINUTES}, "
                "or None for no alarm"
                for name in ("at_maximum_minutes", "no_traffic_minutes")
                if (minutes := getattr(self, name)) is not None
                and minutes not in range(_PERIOD_MINUTES, _LONGEST_MINUTES + 1, _PERIOD_MINUTES)
            ],
        ]
        if complaints:
            raise InvalidArguments("AlarmThresholds", complaints)


def _above_zero(thresholds: AlarmThresholds, names: tuple[str, ...], *, most: float) -> list[str]:
    complaints = []
    for name in names:
        value = getattr(thresholds, name)
        is_an_alarm = name != "slot_mass"
        if (value is None and not is_an_alarm) or (value is not None and not 0 < value <= most):
            allowed = f"give more than 0, at most {most:g}"
            complaints.append(f"{name} is {value!r}: {allowed}{', or None for no alarm' if is_an_alarm else ''}")
    return complaints
