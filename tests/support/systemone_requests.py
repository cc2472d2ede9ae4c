"""System One requests for tests."""

from __future__ import annotations

import json
from typing import Any

STATE = "The customer cannot sign in."

NOUL = {"type": "noul", "instructions": "Is the customer locked out?"}
CHOICE = {
    "type": "choice",
    "instructions": "Which queue should handle this request?",
    "criteria": {"account-access": "Account access support.", "billing": "Billing support."},
}
SCORE = {"type": "score", "instructions": "How urgent is it?", "criteria": ["It can wait", "Today", "At once"]}

QUESTIONS: dict[str, Any] = {"locked": NOUL, "queue": CHOICE, "urgency": SCORE}


def systemone(questions: dict[str, Any] | None = None, state: Any = STATE, **fields: Any) -> dict[str, Any]:
    """A request; the default has one question of each kind."""
    return {"model": "jev-latest", "state": state, "questions": QUESTIONS if questions is None else questions, **fields}


def options(count: int) -> dict[str, Any]:
    """So many options."""
    return {f"option-{n}": f"Description {n}." for n in range(count)}


def choice(criteria: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A choice among these."""
    return {"type": "choice", "instructions": "Which one?", "criteria": criteria, **fields}


def score(levels: list[Any], **fields: Any) -> dict[str, Any]:
    """A score on these levels."""
    return {"type": "score", "instructions": "How much?", "criteria": levels, **fields}


def with_json(value: bytes, *, field: str = "state") -> bytes:
    """The body of a request whose state, instructions, a description or a level is this text, valid JSON or not."""
    placed = {
        "state": systemone(state="VALUE"),
        "instructions": systemone({"q": {"type": "noul", "instructions": "VALUE"}}),
        "description": systemone({"q": choice({"a": "VALUE", "b": "x"})}),
        "level": systemone({"q": score(["VALUE", "x"])}),
        "criteria": systemone({"q": choice({}) | {"criteria": "VALUE"}}),
        "questions": systemone() | {"questions": "VALUE"},
    }
    return json.dumps(placed[field]).encode().replace(b'"VALUE"', value)


HOSTILE_BODIES = {
    "deep": b'{"questions": ' + b"[" * 5000,
    "not UTF-8": b'{"questions": "\xff"}',
    **{
        f"{what} in {field}": with_json(value, field=field)
        for field in ("state", "instructions", "description", "level")
        for what, value in {
            "deep nesting": b"[" * 5000 + b"]" * 5000,
            "nesting over the limit": b"[" * 101 + b"]" * 101,
            "5,000 digits": b"[" + b"9" * 5000 + b"]",
            "NaN": b"[NaN]",
            "a lone surrogate": b'"\\ud83d"',
            "a lone surrogate as key": b'{"\\ud83d": 1}',
            "a duplicate key": b'{"a": "x", "a": "y"}',
        }.items()
    },
    "duplicate options": with_json(b'{"a": "x", "a": "y"}', field="criteria"),
    "duplicate options, one escaped": with_json(b'{"a": "x", "\\u0061": "y"}', field="criteria"),
    "duplicate questions": with_json(
        b'{"q": {"type": "noul", "instructions": "x"}, "q": {"type": "noul", "instructions": "y"}}', field="questions"
    ),
}
"""Bodies that must be refused, by what is wrong with them."""
