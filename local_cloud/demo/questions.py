"""What the demo asks: one decision, and three that share a state."""

from __future__ import annotations

from decision_client import Decision, Option
from decision_client.examples import EXAMPLE_DECISION

ONE_DECISION = EXAMPLE_DECISION

_TICKET = {
    "customer": "Since 2021, plan: team",
    "message": "I cannot sign in since this morning, the code by text message never arrives. We have a demo at noon!",
}

THREE_DECISIONS = (
    Decision(
        id="queue",
        state=_TICKET,
        question="Which queue should handle this request?",
        options=(
            Option("account-access", "Problems with signing in, passwords and codes."),
            Option("billing", "Invoices, payments and refunds."),
            Option("sales", "New plans and offers."),
        ),
    ),
    Decision(
        id="urgency",
        state=_TICKET,
        question="How soon does the customer need an answer?",
        options=(
            Option("today", "Within hours: the customer is stopped or has a deadline."),
            Option("this-week", "Within days: the customer can go on meanwhile."),
        ),
    ),
    Decision(
        id="mentions-deadline",
        state=_TICKET,
        question="Does the customer name a time by which it must work?",
        options=(Option("yes", "A time or an event is named."), Option("no", "No time is named.")),
    ),
)
