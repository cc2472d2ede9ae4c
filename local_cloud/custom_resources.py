"""A custom resource whose Lambda dies without an answer fails at once, with what the Lambda said last.

The emulator waits for the answer as CloudFormation does, for an hour. Only the Lambda that CloudFormation itself calls
counts: those behind the CDK's Provider framework may fail and be tried again.
"""

from __future__ import annotations

import contextvars
import json
from collections.abc import Mapping
from typing import Any

from ministack.services import lambda_svc  # type: ignore[import-untyped]
from ministack.services.cloudformation import custom_resource  # type: ignore[import-untyped]

# CloudFormation keeps about this much of a reason.
_LONGEST_REASON = 1000

_cloudformation_calls: contextvars.ContextVar[bool] = contextvars.ContextVar("cloudformation_calls", default=False)


def install() -> None:
    """Answer for the Lambda that CloudFormation calls, when that call fails."""
    invoke, execute = custom_resource.invoke_custom_resource, lambda_svc._execute_function_with_config_scope

    def invoke_from_cloudformation(*arguments: object, **options: object) -> object:
        calling = _cloudformation_calls.set(True)
        try:
            return invoke(*arguments, **options)
        finally:
            _cloudformation_calls.reset(calling)

    def execute_and_answer_for(function: object, event: Any, *arguments: object) -> object:
        if not _cloudformation_calls.get():
            return execute(function, event, *arguments)
        try:
            result = execute(function, event, *arguments)
        except Exception as error:
            _answer(event, f"{type(error).__name__}: {error}")
            raise
        if isinstance(result, Mapping) and result.get("error"):
            _answer(event, _problem(result.get("body")))
        return result

    custom_resource.invoke_custom_resource = invoke_from_cloudformation
    lambda_svc._execute_function_with_config_scope = execute_and_answer_for


def _answer(event: Mapping[str, Any], problem: str) -> None:
    """Fail the resource, unless the Lambda answered before it died: the first answer counts."""
    token = str(event["ResponseURL"]).rpartition("/")[2]
    pending = custom_resource._pending.get(token)
    if pending is not None and pending["result"] is None:
        reason = f"The Lambda of custom resource {event['LogicalResourceId']} ended without an answer: {problem}"
        custom_resource.deliver_response(token, {"Status": "FAILED", "Reason": reason[:_LONGEST_REASON]})


def _problem(body: Any) -> str:
    if isinstance(body, Mapping) and "errorMessage" in body:
        return f"{body.get('errorType', 'Error')}: {body['errorMessage']}"
    return json.dumps(body, default=str)
