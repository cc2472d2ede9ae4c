"""The values of a CloudFormation template, as the text that they will be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_SUBSTITUTE = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True)
class Reference:
    """What a value refers to: `Ref` (no attribute), `Fn::GetAtt`, or an export of another stack (no attribute)."""

    name: str
    attribute: str | None = None
    is_import: bool = False

    def __str__(self) -> str:
        if self.is_import:
            return f"export {self.name}"
        return f"{self.name}.{self.attribute}" if self.attribute else self.name


Lookup = Callable[[Reference], str]
"""Says what a reference stands for, or raises `Unresolved`."""


class Unresolved(ValueError):
    """The value is not known before the deploy; the text says which part of it."""


def resolve(value: object, lookup: Lookup) -> str:
    """The text of a template's value.

    Parameters
    ----------
    value:
        A text or number, or one of `Ref`, `Fn::GetAtt`, `Fn::ImportValue`, `Fn::Join`, `Fn::Select`, `Fn::Split` and
        `Fn::Sub`.
    lookup:
        Says what a reference stands for.

    Raises
    ------
    Unresolved
        If a part of it is not known, or is made with another function.

    Examples
    --------
    >>> uri = {"Fn::Join": ["", ["763104351884.dkr.ecr.us-east-1.", {"Ref": "AWS::URLSuffix"}, "/llama-cpp"]]}
    >>> resolve(uri, {Reference("AWS::URLSuffix"): "amazonaws.com"}.__getitem__)
    '763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp'
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int, float)):
        return str(value)
    function, argument = _function(value)
    match function:
        case "Ref" | "Fn::GetAtt" | "Fn::ImportValue":
            return lookup(_reference(function, argument, lookup))
        case "Fn::Join" if isinstance(argument, list) and len(argument) == 2:
            return str(argument[0]).join(_list(argument[1], lookup))
        case "Fn::Select" if isinstance(argument, list) and len(argument) == 2:
            choices = _list(argument[1], lookup)
            index = int(resolve(argument[0], lookup))
            if index < len(choices):
                return choices[index]
        case "Fn::Sub":
            return _substitute(argument, lookup)
    raise Unresolved(f"{function} is only known at deploy time")


def references(value: object) -> Iterator[Reference]:
    """Everything that a value refers to, at any depth."""
    if isinstance(value, list):
        for item in value:
            yield from references(item)
    elif isinstance(value, Mapping):
        for name, argument in value.items():
            if name in ("Ref", "Fn::GetAtt") or (name == "Fn::ImportValue" and isinstance(argument, str)):
                yield _named(name, argument)
            elif name == "Fn::Sub":
                yield from _names_in(argument)
            else:
                yield from references(argument)


def _function(value: object) -> tuple[str, Any]:
    if isinstance(value, Mapping) and len(value) == 1:
        return next(iter(value.items()))
    raise Unresolved(f"{value!r:.80} is no text")


def _reference(function: str, argument: object, lookup: Lookup) -> Reference:
    if function == "Fn::ImportValue":
        return Reference(resolve(argument, lookup), is_import=True)
    return _named(function, argument)


def _named(function: str, argument: object) -> Reference:
    if function == "Fn::ImportValue":
        return Reference(str(argument), is_import=True)
    if function == "Ref":
        return Reference(str(argument))
    path = ".".join(map(str, argument)) if isinstance(argument, list) else str(argument)
    name, _, attribute = path.partition(".")
    return Reference(name, attribute)


def _list(value: object, lookup: Lookup) -> list[str]:
    if isinstance(value, list):
        return [resolve(item, lookup) for item in value]
    function, argument = _function(value)
    if function == "Fn::Split" and isinstance(argument, list) and len(argument) == 2:
        return resolve(argument[1], lookup).split(str(argument[0]))
    raise Unresolved(f"{function} is only known at deploy time")


def _substitute(argument: object, lookup: Lookup) -> str:
    template, own = _sub_parts(argument)

    def part(match: re.Match[str]) -> str:
        name = match.group(1)
        if name.startswith("!"):
            return f"${{{name[1:]}}}"
        if name in own:
            return resolve(own[name], lookup)
        logical_id, dot, attribute = name.partition(".")
        return lookup(Reference(logical_id, attribute if dot else None))

    return _SUBSTITUTE.sub(part, template)


def _names_in(argument: object) -> Iterator[Reference]:
    template, own = _sub_parts(argument)
    yield from references(list(own.values()))
    for name in _SUBSTITUTE.findall(template):
        if not name.startswith("!") and name not in own:
            logical_id, dot, attribute = name.partition(".")
            yield Reference(logical_id, attribute if dot else None)


def _sub_parts(argument: object) -> tuple[str, Mapping[str, object]]:
    if isinstance(argument, str):
        return argument, {}
    if isinstance(argument, list) and len(argument) == 2 and isinstance(argument[1], Mapping):
        return str(argument[0]), argument[1]
    raise Unresolved(f"Fn::Sub of {argument!r:.80} is no text")
