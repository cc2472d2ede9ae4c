"""What AWS accepts, from botocore's service models: the shapes of operations, and validation against them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

JsonObject = dict[str, Any]
"""A request or a response of an AWS API, decoded: its fields are AWS's, checked by `validate`."""


class ApiError(Exception):
    """An error that an AWS API answers with: `code` and `status` (HTTP) go to the caller beside the message."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.status = status


@cache
def _service_model(service: str) -> ServiceModel:
    return botocore.session.get_session().get_service_model(service)


def operations(service: str) -> tuple[str, ...]:
    """The names of all operations of a service, as `CreateModel`."""
    return tuple(_service_model(service).operation_names)


def input_shape(service: str, operation: str) -> StructureShape:
    """The shape of the parameters of one operation.

    Examples
    --------
    >>> "ModelName" in input_shape("sagemaker", "CreateModel").members
    True
    """
    shape = _service_model(service).operation_model(operation).input_shape
    if not isinstance(shape, StructureShape):
        raise TypeError(f"{service} {operation} takes no parameters")
    return shape


def coerce(value: Any, shape: Shape | None) -> Any:
    """Give numbers and booleans that CloudFormation carries as text the API's type.

    What does not fit stays as it is, and so do unknown members: `validate` names them.

    Examples
    --------
    >>> coerce({"MinCapacity": "1"}, input_shape("application-autoscaling", "RegisterScalableTarget"))
    {'MinCapacity': 1}
    """
    if isinstance(shape, StructureShape) and isinstance(value, Mapping):
        return {name: coerce(member, shape.members.get(name)) for name, member in value.items()}
    if isinstance(shape, ListShape) and isinstance(value, list):
        return [coerce(item, shape.member) for item in value]
    if isinstance(shape, MapShape) and isinstance(value, Mapping):
        return {name: coerce(member, shape.value) for name, member in value.items()}
    if shape is None or isinstance(value, bool):
        return value
    return _coerce_scalar(value, shape.type_name)


def _coerce_scalar(value: Any, type_name: str) -> Any:
    try:
        if type_name in ("integer", "long") and isinstance(value, str):
            return int(value)
        if type_name in ("integer", "long") and isinstance(value, float) and value.is_integer():
            return int(value)
        if type_name in ("float", "double") and isinstance(value, (str, int)):
            return float(value)
    except ValueError:
        return value
    if type_name == "boolean" and value in ("true", "false"):
        return value == "true"
    if type_name == "string" and isinstance(value, (int, float)):
        return str(value)
    return value


def validate(service: str, operation: str, params: Mapping[str, Any]) -> None:
    """Refuse parameters that the service's model does not allow.

    Raises
    ------
    ApiError
        `ValidationException` that lists every unknown, missing, mistyped or out-of-range parameter.

    Examples
    --------
    >>> validate("sagemaker", "DeleteModel", {"ModelNam": "m"})
    Traceback (most recent call last):
    ...
    local_cloud.aws_model.ApiError: Missing required parameter in input: "ModelName"
    Unknown parameter in input: "ModelNam", must be one of: ModelName
    """
    report = ParamValidator().validate(params, input_shape(service, operation))
    if report.has_errors():
        raise ApiError("ValidationException", report.generate_report())
