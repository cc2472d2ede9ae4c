"""What asking an endpoint can end in, other than an answer. Each error's text is one sentence for whoever must act."""

from __future__ import annotations


class DecisionError(Exception):
    """The endpoint gave no answer to this request."""


class RequestRefused(DecisionError, ValueError):
    """The request itself is wrong, however often it is sent; the text is the endpoint's own sentence.

    `status` is the HTTP status that refused it, and 0 when it was refused here, before it was sent.
    """

    def __init__(self, sentence: str, *, status: int = 0) -> None:
        super().__init__(sentence)
        self.status = status


class EndpointBusy(DecisionError):
    """The endpoint was busy until the deadline, or until this process had no more retries of it.

    `attempts` is how often it was asked, `retry_after_seconds` when to ask again at the earliest.
    """

    def __init__(self, sentence: str, *, attempts: int, retry_after_seconds: float) -> None:
        super().__init__(sentence)
        self.attempts = attempts
        self.retry_after_seconds = retry_after_seconds


class EndpointUnavailable(DecisionError):
    """There is no such endpoint, this caller may not use it, it failed, or it is not one that answers decisions."""
