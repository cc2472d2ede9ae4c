"""When a call asks again, and when it gives up."""

from __future__ import annotations

import asyncio
import random as random_numbers
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from weakref import WeakValueDictionary

from decision_client.errors import DecisionError, EndpointBusy, EndpointUnavailable, RequestRefused
from decision_client.failures import Failure, Kind

_SHORTEST_WAIT_SECONDS = 0.05
_FIRST_WAIT_SECONDS = 0.5
_LONGEST_WAIT_SECONDS = 8.0
# Callers who were told the same time must not all come back at that time.
_JITTER = 0.5


@dataclass(frozen=True)
class Time:
    """The clock, how to wait and the dice; tests bring their own."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    async_sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    random: Callable[[], float] = random_numbers.random


class RetryBudget:
    """How many retries all calls to an endpoint may make together, so that waiting callers do not deepen an overload.

    A retry takes one from the budget. Every new call adds `share`, every second adds `per_second`, up to `burst`, with
    which it begins. So few callers retry until their deadline, and of many whose endpoint has too much to do most are
    told so at once.

    Parameters
    ----------
    burst:
        The most that it holds, 0 or more; of less than 1 there is never a retry. Default: 100.
    share:
        Retries for each new call in the long run, 0 or more. Default: 0.2.
    per_second:
        Retries a second that are always allowed, 0 or more. Default: 1.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> budget = RetryBudget(burst=1, share=0.5, per_second=0)
    >>> budget.take(), budget.take()
    (True, False)
    >>> budget.new_call(), budget.new_call(), budget.take()
    (None, None, True)
    """

    def __init__(
        self,
        *,
        burst: float = 100,
        share: float = 0.2,
        per_second: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not (burst >= 0 and share >= 0 and per_second >= 0):
            raise ValueError(f"burst is {burst}, share {share}, per_second {per_second}: each must be 0 or more")
        self._burst = burst
        self._share = share
        self._per_second = per_second
        self._clock = clock
        self._lock = threading.Lock()
        self._held = float(burst)
        self._seen = clock()

    def new_call(self) -> None:
        """Add what a new call adds."""
        with self._lock:
            self._refill(self._share)

    def take(self) -> bool:
        """Take one retry, if there is one."""
        with self._lock:
            self._refill(0)
            if self._held < 1:
                return False
            self._held -= 1
            return True

    def _refill(self, more: float) -> None:
        now = self._clock()
        self._held = min(self._burst, self._held + more + (now - self._seen) * self._per_second)
        self._seen = now


_budgets: WeakValueDictionary[str, RetryBudget] = WeakValueDictionary()
_budgets_lock = threading.Lock()


def budget_of(address: str) -> RetryBudget:
    """The budget that all clients of this process share for an endpoint."""
    with _budgets_lock:
        budget = _budgets.get(address)
        if budget is None:
            budget = _budgets[address] = RetryBudget()
        return budget


class Call:
    """One call: its attempts, how long it still has, and what it ends in.

    `title` names the endpoint, `deadline_seconds` is how long the call goes on from now.
    """

    def __init__(self, title: str, deadline_seconds: float, budget: RetryBudget, time_: Time) -> None:
        self._title = title
        self._deadline_seconds = deadline_seconds
        self._budget = budget
        self._time = time_
        self._started = time_.clock()
        self._attempts = 0
        budget.new_call()

    @property
    def remaining_seconds(self) -> float:
        """Until the deadline; never negative."""
        return max(0.0, self._deadline_seconds - self._waited)

    def wait_after(self, failure: Failure) -> float:
        """How long to wait before the next attempt, in seconds.

        Raises
        ------
        DecisionError
            If there is none.
        """
        self._attempts += 1
        if failure.kind is Kind.REFUSED:
            raise RequestRefused(failure.sentence, status=failure.status)
        if not failure.passes:
            raise EndpointUnavailable(failure.sentence)
        wait = self._next_wait(failure)
        if wait > self.remaining_seconds:
            raise self._no_more(failure, wait, f"another {wait:.1f} s would pass {self._deadline}")
        if not self._budget.take():
            raise self._no_more(failure, wait, "this process has used up its retries of it")
        return wait

    def no_place(self, places: int) -> EndpointBusy:
        """The error of a call that waited for its turn in vain."""
        return EndpointBusy(
            f"all {places} requests that this client sends at a time to {self._title} were under way until "
            f"{self._deadline}: ask less at a time, or raise max_concurrency",
            attempts=self._attempts,
            retry_after_seconds=_FIRST_WAIT_SECONDS,
        )

    def no_answer(self) -> EndpointUnavailable:
        """The error of a call whose deadline ended in the middle of an attempt."""
        return EndpointUnavailable(f"{self._title} gave no answer until {self._deadline}: give it more time")

    @property
    def _waited(self) -> float:
        return self._time.clock() - self._started

    @property
    def _deadline(self) -> str:
        return f"the deadline of {self._deadline_seconds:g} s"

    def _next_wait(self, failure: Failure) -> float:
        """Never less than the endpoint asked for, longer each time where it did not say."""
        asked = failure.retry_after_seconds
        if asked is None:
            # The exponent stops growing before a float cannot hold it.
            asked = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2 ** min(self._attempts - 1, 10))
        return max(asked, _SHORTEST_WAIT_SECONDS) * (1 + _JITTER * self._time.random())

    def _no_more(self, failure: Failure, wait: float, why: str) -> DecisionError:
        asked = f"{self._waited:.1f} s, in {self._attempts} attempt{'s' * (self._attempts != 1)}"
        if failure.kind is Kind.NOT_REACHED:
            return EndpointUnavailable(f"{failure.sentence} (asked for {asked}, and {why})")
        return EndpointBusy(
            f"{self._title} was busy for {asked} ({failure.sentence}), and {why}: "
            "ask again later, or give it more instances",
            attempts=self._attempts,
            retry_after_seconds=wait,
        )
