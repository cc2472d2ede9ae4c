"""What an application imports to ask a decision endpoint.

Examples
--------
>>> from decision_client import Decision, DecisionClient, Option
>>> route = Decision(
...     id="support-route",
...     state="The customer cannot sign in.",
...     question="Which queue should handle this request?",
...     options=(Option("account-access", "Account access support."), Option("billing", "Billing support.")),
... )
>>> from decision_client.examples import Sample  # in place of a region
>>> DecisionClient("decisions-dev", transport=Sample()).score(route).choice
'account-access'
"""

from __future__ import annotations

from decision_client.answers import Answer, Answers, ChoiceAnswer, NoulAnswer, ScoreAnswer
from decision_client.client import DecisionClient
from decision_client.decisions import Decision, JsonValue, Option
from decision_client.errors import DecisionError, EndpointBusy, EndpointUnavailable, RequestRefused
from decision_client.provenance import AnswerOrigin, ModelIdentity, Provenance
from decision_client.questions import ChoiceQuestion, NoulQuestion, Question, ScoreQuestion
from decision_client.results import BatchResult, BatchTiming, DecisionResult
from decision_client.retrying import RetryBudget

__all__ = [
    "Answer",
    "AnswerOrigin",
    "Answers",
    "BatchResult",
    "BatchTiming",
    "ChoiceAnswer",
    "ChoiceQuestion",
    "Decision",
    "DecisionClient",
    "DecisionError",
    "DecisionResult",
    "EndpointBusy",
    "EndpointUnavailable",
    "JsonValue",
    "ModelIdentity",
    "NoulAnswer",
    "NoulQuestion",
    "Option",
    "Provenance",
    "Question",
    "RequestRefused",
    "RetryBudget",
    "ScoreAnswer",
    "ScoreQuestion",
]
