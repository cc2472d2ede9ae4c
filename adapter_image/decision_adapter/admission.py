"""A queue bounded by time: what cannot be answered before its deadline is told so at once, and when to come back."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from decision_adapter.decision import Decision, DecisionRequest, JsonValue
from decision_adapter.errors import Busy, RequestRefused

# How much the newest measurement counts: after three at a new pace, two thirds of the old one are forgotten.
WEIGHT = 0.3

# Before anything was measured: a guess that refuses nobody who might be served.
UNMEASURED_TOKENS_PER_SECOND = 1000.0
UNMEASURED_TOKENS_PER_BYTE = 0.3

# The template, the profile's words, a suffix's padding: what every prefix and suffix carries beside the caller's text.
FIXED_BYTES = 200

# A tiny prompt measures the overhead of a call, not the pace of a long one.
LEAST_TOKENS_FOR_PEAK = 64

SHORTEST_MEASURED_SECONDS = 1e-9

# What takes so many deadlines at the best pace seen must be made smaller; short of that, the machine may be slow.
HOPELESS_DEADLINES = 2

SHORTEST_RETRY_MS = 100


def prompt_bytes(request: DecisionRequest) -> int:
    """About how many bytes of prompt a request renders to: its state once, and what each decision adds to it."""
    added = sum(
        (FIXED_BYTES + _bytes(_texts(each))) * max(1, min(request.permutations, len(each.options)))
        for each in request.decisions
    )
    return FIXED_BYTES + _bytes([request.state]) + added


def _texts(decision: Decision) -> Iterable[JsonValue]:
    yield decision.question
    for option in decision.options:
        yield option.id
        yield option.description


def _bytes(values: Iterable[JsonValue]) -> int:
    """The bytes of all text in the values; a number, true, false or null counts as one word."""
    total = 0
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            total += len(value.encode())
        elif isinstance(value, dict):
            pending.extend(value)
            pending.extend(value.values())
        elif isinstance(value, list):
            pending.extend(value)
        else:
            total += 4
    return total


@dataclass
class Pace:
    """How fast this instance is, learned from what it served.

    One pace for prefixes and suffixes: the scorer gives every suffix at least 64 tokens, from where on it runs about as
    fast as a prefix. `peak` is the fastest seen, so a slow spell of the machine never makes a request look impossible.
    """

    tokens_per_second: float = UNMEASURED_TOKENS_PER_SECOND
    tokens_per_byte: float = UNMEASURED_TOKENS_PER_BYTE
    peak: float = 0.0
    measured: bool = False

    def learn(self, *, tokens: int, prompt_bytes: int, seconds: float) -> None:
        """Take in one served request: the tokens it took to evaluate, the bytes it came as, the seconds it ran."""
        # Under what the clock can tell, a time is no measurement.
        if tokens <= 0 or seconds < SHORTEST_MEASURED_SECONDS:
            return
        weight = WEIGHT if self.measured else 1.0
        # Averaged as seconds per token: one stall must weigh as much as it cost.
        self.tokens_per_second = 1 / (weight * seconds / tokens + (1 - weight) / self.tokens_per_second)
        self.tokens_per_byte += weight * (tokens / prompt_bytes - self.tokens_per_byte)
        if tokens >= LEAST_TOKENS_FOR_PEAK:
            self.peak = max(self.peak, tokens / seconds)
        self.measured = True

    def seconds_for(self, tokens: float) -> float:
        """How long so many tokens take at the present pace."""
        return tokens / self.tokens_per_second


class Place:
    """One request's place in the queue, from its admission until nothing of it is left in the engine."""

    def __init__(self, admission: Admission, *, prompt_bytes: int, deadline: float, waited_for_none: bool) -> None:
        self.prompt_bytes = prompt_bytes
        self.deadline = deadline
        self.waited_for_none = waited_for_none
        self._admission = admission

    def start(self, tokens: int) -> None:
        """Its turn has come, and its tokens are counted: it runs, unless it can no longer be ready in time.

        Raises
        ------
        RequestRefused
            If it would take twice the deadline even alone and at the best pace seen.
        Busy
            If it waited too long to be ready before its deadline.
        """
        self._admission.start(self, tokens)

    def leave(self) -> None:
        """Give the place up; twice is fine."""
        self._admission.leave(self)


@dataclass
class _Running:
    place: Place
    since: float
    seconds: float


class Admission:
    """Who may wait, decided from what waits already and how fast the engine is.

    A request is first judged by its bytes: tokenizing is the engine thread's, which may be busy for most of a minute,
    and a caller who must come back should know at once. When its turn comes it is judged again, by its tokens.

    Parameters
    ----------
    deadline_seconds:
        How long a request may take in all.
    clock:
        Monotonic seconds. Default: the system's.

    Safe to call from any thread.
    """

    def __init__(self, *, deadline_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.pace = Pace()
        self._deadline_seconds = deadline_seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting: dict[Place, float] = {}
        self._running: _Running | None = None

    @property
    def waiting(self) -> int:
        """How many requests have a place and have not begun."""
        with self._lock:
            return len(self._waiting)

    def enter(self, size: int, *, deadline: float) -> Place:
        """Take a place for a request of about `size` `prompt_bytes`, to be answered by `deadline` (of the clock).

        Raises
        ------
        Busy
            If what is before it leaves too little time.
        """
        with self._lock:
            seconds = self.pace.seconds_for(size * self.pace.tokens_per_byte)
            ahead = self._seconds_ahead()
            late = self._clock() + ahead + seconds - deadline
            nothing_ahead = not self._waiting and self._running is None
            # With nothing ahead it is tried whatever the estimate says: coming back later would not make it any faster,
            # and only what is tried corrects an estimate.
            if late > 0 and not nothing_ahead:
                raise Busy(
                    f"busy: about {ahead:.1f} s of work is queued, and this request would not be answered within "
                    f"{self._deadline_seconds:g} s",
                    # Once nothing is ahead it is tried, however long it may take.
                    _retry_after_ms(min(late, ahead)),
                )
            place = Place(self, prompt_bytes=size, deadline=deadline, waited_for_none=nothing_ahead)
            self._waiting[place] = seconds
            return place

    def start(self, place: Place, tokens: int) -> None:
        """See `Place.start`."""
        with self._lock:
            best = tokens / self.pace.peak if self.pace.peak else 0.0
            if best > HOPELESS_DEADLINES * self._deadline_seconds:
                raise RequestRefused(
                    f"the request needs {tokens} tokens, at least {best:.0f} s on this instance, and the limit is "
                    f"{self._deadline_seconds:g} s: send fewer decisions at a time or a shorter state"
                )
            now = self._clock()
            seconds = self.pace.seconds_for(tokens)
            late = now + seconds - place.deadline
            if late > 0 and not place.waited_for_none:
                raise Busy(
                    f"busy: the request waited, and would not be answered within {self._deadline_seconds:g} s",
                    _retry_after_ms(late),
                )
            self._waiting.pop(place, None)
            self._running = _Running(place, now, seconds)

    def leave(self, place: Place) -> None:
        """See `Place.leave`."""
        with self._lock:
            self._waiting.pop(place, None)
            if self._running is not None and self._running.place is place:
                self._running = None

    def _seconds_ahead(self) -> float:
        waiting = sum(self._waiting.values())
        if self._running is None:
            return waiting
        return waiting + max(0.0, self._running.seconds - (self._clock() - self._running.since))


def _retry_after_ms(seconds: float) -> int:
    return max(SHORTEST_RETRY_MS, math.ceil(seconds * 1000))
