"""SemIf requests for tests."""

from __future__ import annotations

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


def lettered(count: int) -> tuple[tuple[str, str], ...]:
    """So many options."""
    return tuple((f"option-{n}", f"Description {n}.") for n in range(count))
