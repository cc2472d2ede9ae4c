"""pydantic's findings as sentences for whoever edits the file."""

from __future__ import annotations

from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from decision_endpoints.errors import did_you_mean

_Location = tuple[int | str, ...]

_WANTED = {
    "string_type": "give text, in quotes if it looks like a number",
    "int_type": "give a whole number, without quotes",
    "list_type": "give a list, each item after a `- ` on a line of its own",
    "bool_type": "give true or false, without quotes",
    "model_type": "give settings as `key: value` below it",
    "dataclass_exact_type": "give settings as `key: value` below it",
}
# What the patterns of `environment` want; a regular expression is no sentence.
_WANTED_AT: dict[_Location, str] = {
    ("account",): "give the 12 digits of an AWS account, in quotes",
    ("region",): "give an AWS region, such as us-east-1",
}


def sentences(error: ValidationError, model: type[BaseModel]) -> Iterator[str]:
    """One sentence for each finding: the key, what was found there, what to do."""
    for detail in error.errors():
        yield _sentence(detail, model)


def _sentence(detail: ErrorDetails, model: type[BaseModel]) -> str:
    location = detail["loc"]
    key = ".".join(str(part) for part in location)
    found = detail["input"]
    match detail["type"]:
        case "extra_forbidden":
            near = did_you_mean(str(location[-1]), _known_keys(model, location[:-1]))
            return f"{key} is no setting: {near}"
        case "missing":
            return f"{key} is missing: add it"
        case "value_error":
            reason = str(detail["ctx"]["error"])
            return f"{key}: {reason}" if key else reason
        case "literal_error":
            return f"{key} is {found!r}: {did_you_mean(str(found), _choices(model, location))}"
        case kind:
            wanted = _WANTED_AT.get(location) or _WANTED.get(kind) or detail["msg"]
            return f"{key} is {found!r:.80}: {wanted}"


def _known_keys(model: type[Any], location: _Location) -> list[str]:
    """The keys that the section at `location` may have."""
    for part in location:
        # A number is a place in a list, whose items are what the annotation before it unwrapped to.
        model = model if isinstance(part, int) else _annotation(model, part)
    return list(model.model_fields)


def _choices(model: type[Any], location: _Location) -> list[str]:
    for part in location[:-1]:
        model = model if isinstance(part, int) else _annotation(model, part)
    return [str(choice) for choice in get_args(_annotation(model, str(location[-1])))]


def _annotation(model: type[Any], key: str) -> Any:
    """What stands at `key`: of ``X | None`` the X, of a list its items."""
    annotation = model.model_fields[key].annotation
    while get_origin(annotation) in (Union, UnionType, list):
        annotation = next(inner for inner in get_args(annotation) if inner is not NoneType)
    return annotation
