"""A run of Lambda ends without a word when its time is up, so it has to end before that, with one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Protocol, TypeVar

ANSWER_SECONDS = 20.0
"""Kept back for answering CloudFormation, which includes repeating the answer when the first attempt fails."""

Result = TypeVar("Result")


class LambdaContext(Protocol):
    """What is used of the context object that Lambda passes to a handler."""

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until Lambda ends the run."""


class OutOfTime(Exception):
    """The work would not be done before Lambda ends the run."""


class Deadline:
    """How long a run may work before it must answer."""

    def __init__(self, context: LambdaContext) -> None:
        self._context = context
        self._stopped = threading.Event()

    def seconds_left(self) -> float:
        """Seconds of work left; negative when it is time to answer."""
        return self._context.get_remaining_time_in_millis() / 1000 - ANSWER_SECONDS

    def check(self, progress: str) -> None:
        """Raise OutOfTime, with the progress in words, when there is no time left or `run` has given up."""
        if self._stopped.is_set() or self.seconds_left() <= 0:
            raise OutOfTime(
                f"the time of this run ends after {progress}: nothing was verified; "
                "give the function more time or memory, or pin a smaller file"
            )

    def run(self, work: Callable[[], Result]) -> Result:
        """Do the work, but return in time even if it hangs in a call that never comes back.

        Raises
        ------
        OutOfTime
            If the work has not ended in time. It is told to stop by its next `check`.
        """
        outcome: Future[Result] = Future()

        def record() -> None:
            try:
                outcome.set_result(work())
            except BaseException as error:  # noqa: BLE001 - raised again by `result`, in the handler's thread
                outcome.set_exception(error)

        # A daemon: a worker that hangs must keep neither the answer nor the end of the process waiting.
        threading.Thread(target=record, name="work", daemon=True).start()
        wait([outcome], timeout=max(self.seconds_left(), 0.1))
        if not outcome.done():
            self._stopped.set()
            raise OutOfTime("S3 did not answer in the time of this run: nothing was verified; deploy again")
        return outcome.result()
