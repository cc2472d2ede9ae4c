"""pydantic's findings as sentences for whoever edits the file."""

from __future__ import annotations

from collections.abc import Iterator
from reprlib import Repr
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from decision_endpoints.errors import did_you_mean

_Location = tuple[int | str, ...]

_LONGEST = 80
# A few aliases of YAML can stand for more than fits into memory: what was found is never written out whole.
_SHORT = Repr()
_SHORT.maxlevel, _SHORT.maxdict, _SHORT.maxlist, _SHORT.maxtuple = 2, 3, 3, 3
_SHORT.maxstring = _SHORT.maxlong = _LONGEST

_WANTED = {
    "string_type": "give text, in quotes if it looks like a number",
    "int_type": "give a whole number, without quotes",
    "float_type": "give a number, without quotes",
    "list_type": "give a list, each item after a `- ` on a line of its own",
    "bool_type": "give true or false, without quotes",
    "dict_type": "give settings as `key: value` below it",
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
    told: set[_Location] = set()
    for detail in error.errors():
        location = detail["loc"]
        if location[-1:] in (("float",), ("int",)):
            # The branches of a union are findings of their own, each under its type's name: the first, of any number,
            # says it all.
            location = location[:-1]
            if location in told:
                continue
        told.add(location)
        yield _sentence(detail, location, model)


def _sentence(detail: ErrorDetails, location: _Location, model: type[BaseModel]) -> str:
    key = ".".join(_word(part) for part in location)
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
            word = found if isinstance(found, str) else ""
            return f"{key} is {_shown(found)}: {did_you_mean(word, _choices(model, location))}"
        case "greater_than_equal":
            return f"{key} is {_shown(found)}: give at least {detail['ctx']['ge']}"
        case kind:
            wanted = _WANTED_AT.get(location) or _WANTED.get(kind) or detail["msg"]
            return f"{key} is {_shown(found)}: {wanted}"


def _word(part: int | str) -> str:
    """A part of a key, as it is unless it would garble the sentence."""
    text = str(part)
    return text if text.isprintable() and len(text) <= _LONGEST else _shown(text)


def _shown(found: object) -> str:
    return _SHORT.repr(found)[:_LONGEST]


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
