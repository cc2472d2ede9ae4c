"""InvokeEndpoint: `POST /endpoints/NAME/invocations`, with SageMaker's mapping of what a container answers."""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Mapping
from http import HTTPStatus

from local_cloud.ministack_seams import Response, account_id, region
from local_cloud.sagemaker import invocation_metrics
from local_cloud.sagemaker.control_plane import endpoints
from local_cloud.sagemaker.endpoint import IN_SERVICE, OUT_OF_SERVICE, UPDATING
from local_cloud.sagemaker.instance import ContainerAnswer, Instance
from local_cloud.sagemaker.instance_log import group_of

PATH = re.compile(r"/endpoints/([^/]+)/invocations")
MAX_BODY_BYTES = 6_291_456
VARIANT_HEADER = "x-Amzn-Invoked-Production-Variant"

_CUSTOM_ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
_FORWARDED = ("Content-Type", "Accept", _CUSTOM_ATTRIBUTES)
_INVOCABLE = (IN_SERVICE, OUT_OF_SERVICE, UPDATING)

# SageMaker reports a container that gave no answer, in time or at all, as status 0 of a server error.
_NO_STATUS = 0
_TIMED_OUT = (
    "Your invocation timed out while waiting for a response from container primary. Review the latency metrics for each"
    " container in Amazon CloudWatch, resolve the issue, and try again."
)
_EXITED = "An error occurred while handling request as the model process exited."


def invoke_endpoint(name: str, headers: Mapping[str, str], body: bytes) -> Response:
    """Answer one invocation; header names are lower case. Blocks for as long as the container takes, at most 60 s."""
    endpoint = endpoints.find(name)
    if endpoint is None or endpoint.status not in _INVOCABLE:
        return _error(
            "ValidationError", HTTPStatus.BAD_REQUEST, f"Endpoint {name} of account {account_id()} not found."
        )
    if len(body) > MAX_BODY_BYTES:
        return _error(
            "ValidationError",
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            f"The request body has {len(body)} bytes; an invocation may have at most {MAX_BODY_BYTES}.",
        )
    variant = endpoint.release.variant.name
    if headers.get("x-amzn-sagemaker-target-variant", variant) != variant:
        return _error("ValidationError", HTTPStatus.BAD_REQUEST, f"Endpoint {name} has the variant {variant} only.")
    with endpoint.instance() as instance:
        if instance is None:
            return _error(
                "ServiceUnavailable", HTTPStatus.SERVICE_UNAVAILABLE, f"No instance of endpoint {name} is healthy."
            )
        asked = time.monotonic()
        answer = _ask(instance, body, _forwarded(headers))
    invocation_metrics.publish(name, variant, answer.status, time.monotonic() - asked)
    if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        return _model_error(name, answer)
    return HTTPStatus.OK, _answer_headers(answer, variant), answer.body


def _ask(instance: Instance, body: bytes, headers: Mapping[str, str]) -> ContainerAnswer:
    try:
        return instance.invoke(body, headers)
    except TimeoutError:
        return ContainerAnswer(_NO_STATUS, {}, _TIMED_OUT.encode())
    except (OSError, http.client.HTTPException):
        return ContainerAnswer(_NO_STATUS, {}, _EXITED.encode())


def _forwarded(headers: Mapping[str, str]) -> dict[str, str]:
    return {name: headers[name.lower()] for name in _FORWARDED if name.lower() in headers}


def _answer_headers(answer: ContainerAnswer, variant: str) -> dict[str, str]:
    headers = {VARIANT_HEADER: variant, "Content-Type": answer.headers.get("content-type", "application/octet-stream")}
    if _CUSTOM_ATTRIBUTES.lower() in answer.headers:
        headers[_CUSTOM_ATTRIBUTES] = answer.headers[_CUSTOM_ATTRIBUTES.lower()]
    return headers


def _model_error(name: str, answer: ContainerAnswer) -> Response:
    text = answer.body.decode("utf-8", "replace")
    by_client = HTTPStatus.BAD_REQUEST <= answer.status < HTTPStatus.INTERNAL_SERVER_ERROR
    group = group_of(name)
    return _error(
        "ModelError",
        HTTPStatus.FAILED_DEPENDENCY,
        f'Received {"client" if by_client else "server"} error ({answer.status}) from primary with message "{text}". '
        f"See log group {group} in account {account_id()} for more information.",
        ErrorCode=f"{'CLIENT' if by_client else 'SERVER'}_ERROR_FROM_MODEL",
        OriginalStatusCode=answer.status,
        OriginalMessage=text,
        LogStreamArn=f"arn:aws:logs:{region()}:{account_id()}:log-group:{group}",
    )


def _error(code: str, status: HTTPStatus, message: str, **more: str | int) -> Response:
    headers = {"Content-Type": "application/json", "x-amzn-ErrorType": code}
    return status, headers, json.dumps({"Message": message, **more}).encode()
