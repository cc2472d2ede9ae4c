"""GET /openapi.json: the interface as it is, written from the types that read requests and write answers."""

from __future__ import annotations

from typing import Any

import msgspec

from decision_adapter.wire import Limits, semif, semif_answer, systemone, systemone_answer


class SemifSingle(msgspec.Struct):
    """One decision."""

    decision: semif.SemifDecision


class SemifBatch(msgspec.Struct):
    """Decisions over one state: every `state` is equal."""

    decisions: list[semif.SemifDecision]


class Error(msgspec.Struct):
    """Why there is no answer; `retryable` and `retry_after_ms` where asking again is a question."""

    error: str
    retryable: bool | msgspec.UnsetType = msgspec.UNSET
    retry_after_ms: int | msgspec.UnsetType = msgspec.UNSET


class InvalidValue(msgspec.Struct):
    """What is wrong with a body, and where in it."""

    loc: list[str | int]
    msg: str
    type: str


class ValidationError(msgspec.Struct):
    """The body is wrong."""

    detail: list[InvalidValue]


class ProblemDetail(msgspec.Struct):
    """Why there is no answer; `retryable` and `retry_after_ms` where asking again is a question."""

    error_type: str
    message: str
    retryable: bool | msgspec.UnsetType = msgspec.UNSET
    retry_after_ms: int | msgspec.UnsetType = msgspec.UNSET


class SystemOneError(msgspec.Struct):
    """Anything but a wrong body."""

    detail: ProblemDetail


class Status(msgspec.Struct):
    """How the engine is; `error` where it does not serve."""

    status: str
    error: str | msgspec.UnsetType = msgspec.UNSET


_TYPES: tuple[type, ...] = (
    SemifSingle,
    SemifBatch,
    semif_answer.SingleAnswer,
    semif_answer.BatchAnswer,
    systemone.SystemOneRequest,
    systemone_answer.SystemOneResponse,
    systemone_answer.ModelList,
    Error,
    ValidationError,
    SystemOneError,
    Status,
)

_BODY_PROBLEMS = {
    "408": "the body did not arrive",
    "413": "the body is too large",
    "415": "not JSON, or in a coding other than gzip and zstd",
}
_ENGINE_PROBLEMS = {"500": "the engine gave no usable numbers", "503": "busy, loading or out of service"}
_NO_KEY = {"401": "a key is needed, and none or another was sent"}


def describe(limits: Limits) -> bytes:
    """The OpenAPI 3.1 document, as JSON."""
    _, schemas = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    schemas["SystemOneRequest"]["properties"]["questions"]["maxProperties"] = limits.max_decisions
    schemas["ChoiceQuestion"]["properties"]["criteria"]["maxProperties"] = limits.max_options
    schemas["SemifBatch"]["properties"]["decisions"] |= {"minItems": 1, "maxItems": limits.max_decisions}
    schemas["SemifDecision"]["properties"]["options"]["maxItems"] = min(semif.MAX_OPTIONS, limits.max_options)
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {
                "title": "Decision adapter",
                "version": "1",
                "description": "Probabilities of the options of a question about a state, from one model.",
            },
            "paths": _paths(),
            "components": {"schemas": schemas, "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
            # With and without: the key is an option of whoever runs the server.
            "security": [{}, {"key": []}],
        }
    )


def _paths() -> dict[str, Any]:
    semif_problems = {"400": "the request is wrong"} | _NO_KEY | _BODY_PROBLEMS | _ENGINE_PROBLEMS
    systemone_problems = (
        {"400": "a prompt is too long, or a coding broken"} | _NO_KEY | _BODY_PROBLEMS | _ENGINE_PROBLEMS
    )
    return {
        "/invocations": {
            "post": {
                "summary": "SageMaker's route: a request in either shape, its problems always in SemIf's",
                "requestBody": _body("SemifSingle", "SemifBatch", "SystemOneRequest"),
                "responses": _answers("SingleAnswer", "BatchAnswer", "SystemOneResponse")
                | _problems("Error", semif_problems),
            }
        },
        "/v1/systemone": {
            "post": {
                "summary": "The System One API",
                "requestBody": _body("SystemOneRequest"),
                "responses": _answers("SystemOneResponse")
                | _problems("SystemOneError", systemone_problems)
                | _problems("ValidationError", {"422": "the body is wrong"}),
            }
        },
        "/v1/models": {
            "get": {
                "summary": "The model that is served",
                "responses": _answers("ModelList")
                | _problems("SystemOneError", _NO_KEY | {"503": "loading or out of service"}),
            }
        },
        "/metrics": {
            "get": {
                "summary": "Counters and histograms in Prometheus' text format",
                "responses": {"200": {"description": "as it is now", "content": {"text/plain": {"schema": _TEXT}}}}
                | _problems("Error", _NO_KEY),
            }
        },
        "/openapi.json": {
            "get": {
                "summary": "This document",
                "responses": {
                    "200": {"description": "OpenAPI 3.1", "content": {"application/json": {"schema": _OBJECT}}}
                }
                | _problems("Error", _NO_KEY),
            }
        },
        "/ping": {
            "get": {
                "summary": "Whether it can answer",
                "security": [{}],
                "responses": _answers("Status") | _problems("Status", {"503": "loading or out of service"}),
            }
        },
    }


_TEXT = {"type": "string"}
_OBJECT = {"type": "object"}


def _content(*schemas: str) -> dict[str, Any]:
    refs = [{"$ref": f"#/components/schemas/{name}"} for name in schemas]
    return {"application/json": {"schema": refs[0] if len(refs) == 1 else {"anyOf": refs}}}


def _body(*schemas: str) -> dict[str, Any]:
    return {"required": True, "content": _content(*schemas)}


def _answers(*schemas: str) -> dict[str, Any]:
    return {"200": {"description": "answered", "content": _content(*schemas)}}


def _problems(schema: str, by_status: dict[str, str]) -> dict[str, Any]:
    return {status: {"description": text, "content": _content(schema)} for status, text in by_status.items()}
