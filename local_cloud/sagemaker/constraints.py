"""The limits in SageMaker's model that botocore leaves to the service: lengths, patterns, ranges and enumerations."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from local_cloud import aws_model
from local_cloud.aws_model import ApiError

_LONGEST_LISTED_ENUMERATION = 12


def validate(operation: str, request: Mapping[str, Any]) -> None:
    """Refuse a request that SageMaker would refuse by its shape alone.

    Raises
    ------
    ApiError
        `ValidationException` that lists every unknown, missing, mistyped or out-of-range parameter, in the words of
        botocore (shape) or of the service (limits).

    Examples
    --------
    >>> validate("CreateEndpoint", {"EndpointName": "a_b", "EndpointConfigName": "c"})
    Traceback (most recent call last):
    ...
    local_cloud.aws_model.ApiError: 1 validation error detected: Value 'a_b' at 'endpointName' failed to satisfy \
constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}
    """
    aws_model.validate("sagemaker", operation, request)
    broken = list(_broken(request, aws_model.input_shape("sagemaker", operation), ""))
    if broken:
        count = f"{len(broken)} validation error{'s' if len(broken) > 1 else ''} detected"
        raise ApiError("ValidationException", f"{count}: {'; '.join(broken)}")


def _broken(value: Any, shape: Shape, where: str) -> Iterator[str]:
    rule = _broken_rule(value, shape)
    if rule is not None:
        shown = value if isinstance(value, (str, int, float)) else f"[{len(value)} entries]"
        yield f"Value '{shown}' at '{where}' failed to satisfy constraint: Member must {rule}"
    if isinstance(shape, StructureShape):
        for name, member in value.items():
            yield from _broken(member, shape.members[name], _under(where, name[:1].lower() + name[1:]))
    elif isinstance(shape, ListShape):
        for position, item in enumerate(value, 1):
            yield from _broken(item, shape.member, _under(where, f"{position}.member"))
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from _broken(key, shape.key, _under(where, f"{key}.key"))
            yield from _broken(item, shape.value, _under(where, f"{key}.value"))


def _under(where: str, member: str) -> str:
    return f"{where}.{member}" if where else member


def _broken_rule(value: Any, shape: Shape) -> str | None:
    limits: Mapping[str, Any] = shape.metadata
    if shape.type_name in ("integer", "long", "float", "double"):
        if value > limits.get("max", value):
            return f"have value less than or equal to {limits['max']}"
        if value < limits.get("min", value):
            return f"have value greater than or equal to {limits['min']}"
    elif shape.type_name in ("string", "list", "map") and len(value) > limits.get("max", len(value)):
        return f"have length less than or equal to {limits['max']}"
    if shape.type_name != "string":
        return None
    if "enum" in limits and value not in limits["enum"]:
        return f"satisfy enum value set: [{_listed(value, limits['enum'])}]"
    pattern = _compiled(limits["pattern"]) if "pattern" in limits else None
    if pattern is not None and not pattern.fullmatch(value):
        return f"satisfy regular expression pattern: {limits['pattern']}"
    return None


def _listed(value: str, allowed: list[str]) -> str:
    if len(allowed) <= _LONGEST_LISTED_ENUMERATION:
        return ", ".join(allowed)
    nearest = difflib.get_close_matches(value, allowed, n=3, cutoff=0)
    return f"{', '.join(nearest)}, … {len(allowed)} in all"


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    # The models hold patterns of Java; those with its Unicode classes (\p{L}, in tags) are beyond Python's `re`.
    return None if r"\p{" in pattern else re.compile(pattern)
