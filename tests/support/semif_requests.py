"""SemIf requests for tests."""

from __future__ import annotations

import json
from typing import Any

OPTIONS = (("account-access", "Account access support."), ("billing", "Billing support."))


def decision(
    state: Any = "The customer cannot sign in.",
    *,
    id: str = "support-route",
    question: str = "Which queue should handle this request?",
    options: tuple[tuple[str, Any], ...] = OPTIONS,
) -> dict[str, Any]:
    """One decision; the default is the documented example."""
    return {
        "id": id,
        "state": state,
        "question": question,
        "options": [{"id": name, "description": description} for name, description in options],
    }


def single(state: Any = "The customer cannot sign in.", **parts: Any) -> dict[str, Any]:
    """A request of one decision."""
    return {"decision": decision(state, **parts)}


def with_json(value: bytes, *, field: str = "state") -> bytes:
    """The body of a request whose state, question or first description is this text, valid JSON or not."""
    placed = {
        "state": single("VALUE"),
        "question": single(question="VALUE"),
        "description": single(options=(("a", "VALUE"), ("b", "x"))),
    }
    return json.dumps(placed[field]).encode().replace(b'"VALUE"', value)


HOSTILE_BODIES = {
    "deep": b'{"state": ' + b"[" * 5000,
    "deep state": with_json(b"[" * 5000 + b"]" * 5000),
    "deep description": with_json(b"[" * 5000 + b"]" * 5000, field="description"),
    "long integer": with_json(b"9" * 5000),
    "long integer in a state": with_json(b"[" + b"9" * 5000 + b"]"),
    "long integer in a description": with_json(b"[" + b"9" * 5000 + b"]", field="description"),
    "NaN": with_json(b"NaN"),
    "NaN in a state": with_json(b"[NaN]"),
    "NaN in a description": with_json(b"[NaN]", field="description"),
    "lone surrogate": with_json(b'"\\ud83d"'),
    "lone surrogate in a key": with_json(b'{"\\ud83d": 1}'),
    "lone surrogate in a question": with_json(b'"\\ud83d"', field="question"),
    "lone surrogate in a description": with_json(b'"\\ud83d"', field="description"),
    "duplicate key": with_json(b'{"a": "x", "a": "y"}'),
    "not JSON": b"state=x",
    "empty": b"",
    "not UTF-8": b"\xff\xfe",
}
"""Bodies that must be refused, by what is wrong with them."""


def lettered(count: int) -> tuple[tuple[str, str], ...]:
    """So many options."""
    return tuple((f"option-{n}", f"Description {n}.") for n in range(count))
