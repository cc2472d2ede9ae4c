"""Requests signed for SageMaker: its control plane by `X-Amz-Target`, its runtime by path."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from local_cloud.aws_model import ApiError
from local_cloud.ministack_seams import Response, json_answer, json_refusal, off_the_loop
from local_cloud.sagemaker import control_plane, runtime

TARGET_PREFIX = "SageMaker."


async def handle(
    method: str, path: str, headers: Mapping[str, str], body: bytes, query_parameters: Mapping[str, Any]
) -> Response:
    """Answer one request, off the event loop: reading SageMaker's model and asking a container both take a while."""
    lowered = {name.lower(): value for name, value in headers.items()}
    invocation = runtime.PATH.fullmatch(path)
    if invocation is not None and method == "POST":
        return await off_the_loop(
            runtime.invoke_endpoint, invocation[1], lowered, body, thread_name="sagemaker-invocation"
        )
    target = lowered.get("x-amz-target", "")
    if not target.startswith(TARGET_PREFIX):
        return json_refusal("UnknownOperationException", f"The local cloud has no SageMaker API {method} {path}.")
    return await off_the_loop(_call, target.removeprefix(TARGET_PREFIX), body, thread_name="sagemaker")


def _call(operation: str, body: bytes) -> Response:
    try:
        request = json.loads(body or b"{}")
    except ValueError as error:
        return json_refusal("SerializationException", f"The request is no JSON: {error}", HTTPStatus.BAD_REQUEST)
    try:
        return json_answer(control_plane.call(operation, request))
    except ApiError as error:
        return json_refusal(error.code, str(error), error.status)
