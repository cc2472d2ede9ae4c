"""What can go wrong between a request and its answer, in the words the caller reads."""

from __future__ import annotations

Place = tuple[str | int, ...]
"""Where in a request's body something is: field names and indices, from the outside in."""


class RequestRefused(ValueError):
    """The request itself is wrong; the text says what, where, what is allowed. Nothing was evaluated.

    `place` is as much of the path to it as is known, `kind` a word for programs: missing, value_error and the like.
    """

    def __init__(self, reason: str, *, place: Place = (), kind: str = "value_error") -> None:
        super().__init__(reason)
        self.place = place
        self.kind = kind


class TooManyOptions(RequestRefused):
    """A decision has more options than the model has answer slots, or than the settings allow."""

    def __init__(self, decision_id: str, count: int, limit: int) -> None:
        super().__init__(f"decision {decision_id!r} has {count} options, the limit is {limit}", kind="too_long")
        self.decision_id = decision_id


class PromptTooLong(RequestRefused):
    """A prompt exceeds the token limit; raised before anything is evaluated.

    `at_least` says that `tokens` is a lower bound, of a text so long that it was not even tokenized.
    """

    def __init__(self, decision_id: str, tokens: int, limit: int, *, at_least: bool = False) -> None:
        super().__init__(
            f"decision {decision_id!r} needs {'at least ' if at_least else ''}{tokens} tokens, the limit is {limit}: "
            "shorten its state, question or options"
        )
        self.tokens = tokens
        self.limit = limit


class Busy(Exception):
    """The answer cannot be ready before its deadline; ask again in `retry_after_ms` milliseconds."""

    def __init__(self, reason: str, retry_after_ms: int) -> None:
        super().__init__(reason)
        self.retry_after_ms = retry_after_ms


class Abandoned(Exception):
    """Nobody waits for the answer any more, so its evaluation was given up. Nothing failed."""


class EngineFailed(Exception):
    """The engine gave no usable numbers for this request, or is gone."""


class ModelRefused(Exception):
    """The model, the engine or the device is not what was asked for; the process must not serve."""


class OffloadIncomplete(ModelRefused):
    """Not all the layers that were to be are on a GPU: `offloaded` of the model's `layers`, None if nothing said.

    `devices` is what the engine sees.
    """

    def __init__(
        self, reason: str, *, asked: int, offloaded: int | None = None, layers: int | None = None, devices: str
    ) -> None:
        super().__init__(reason)
        self.asked = asked
        self.offloaded = offloaded
        self.layers = layers
        self.devices = devices
