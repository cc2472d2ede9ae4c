"""What is asked: a question about a state, with the options it may be answered by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decision_client.errors import RequestRefused

JsonValue = None | bool | int | float | str | Sequence["JsonValue"] | Mapping[str, "JsonValue"]


@dataclass(frozen=True)
class Option:
    """One answer a decision may have: `id` comes back byte for byte, `description` is what the model reads."""

    id: str
    description: JsonValue


@dataclass(frozen=True)
class Decision:
    """One question about one state.

    The endpoint is its judge: what it does not accept comes back as `RequestRefused` in its own words.

    Parameters
    ----------
    id:
        Names the decision within its request, and its result in the answer.
    state:
        What is known: text, or an object or array of JSON values. Decisions asked together share one state.
    question:
        What is asked about it.
    options:
        The answers to choose from, at least two, with ids that differ. Their order is kept.

    Examples
    --------
    >>> options = (Option("yes", "Pay it back."), Option("no", "Keep it."))
    >>> Decision("refund", {"paid": True}, "Should the customer be refunded?", options).to_json()["state"]
    {'paid': True}
    """

    id: str
    state: JsonValue
    question: str
    options: Sequence[Option]

    def to_json(self) -> dict[str, JsonValue]:
        """The decision as it stands in a request."""
        return {
            "id": self.id,
            "state": self.state,
            "question": self.question,
            "options": [{"id": option.id, "description": option.description} for option in self.options],
        }


def request_for_one(decision: Decision) -> bytes:
    """The body that asks one decision."""
    return encode({"decision": decision.to_json()})


def request_for_all(decisions: Sequence[Decision]) -> bytes:
    """The body that asks several decisions about one state."""
    return encode({"decisions": [decision.to_json() for decision in decisions]})


def encode(document: dict[str, JsonValue]) -> bytes:
    """A request's body.

    Raises
    ------
    RequestRefused
        If JSON cannot hold it.
    """
    try:
        return json.dumps(document, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise RequestRefused(
            f"the request cannot be written as JSON ({error}): states and descriptions are made of text, "
            "finite numbers, booleans, None, lists and dicts with text keys"
        ) from error
