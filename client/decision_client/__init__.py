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
>>> DecisionClient("decisions-dev", region="us-east-1").score(route).choice  # doctest: +SKIP
'account-access'
"""

from __future__ import annotations

from decision_client.client import DecisionClient
from decision_client.decisions import Decision, JsonValue, Option
from decision_client.errors import DecisionError, EndpointBusy, EndpointUnavailable, RequestRefused
from decision_client.results import BatchResult, BatchTiming, DecisionResult, ModelIdentity

__all__ = [
    "BatchResult",
    "BatchTiming",
    "Decision",
    "DecisionClient",
    "DecisionError",
    "DecisionResult",
    "EndpointBusy",
    "EndpointUnavailable",
    "JsonValue",
    "ModelIdentity",
    "Option",
    "RequestRefused",
]
