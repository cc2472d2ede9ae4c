"""JSON that means one thing: no key twice in one object, no bottomless nesting, nothing JSON does not have."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import TypeVar, cast

import msgspec

from decision_adapter.decision import JsonValue
from decision_adapter.errors import Place, RequestRefused

# Far above what a person writes, far below where any recursive reader or writer of the value would give up.
MAX_DEPTH = 100

_Container = list[JsonValue] | dict[str, JsonValue]

T = TypeVar("T")


def decode(decoder: msgspec.json.Decoder[T], body: bytes) -> T:
    """Read a whole `body` into the decoder's type.

    msgspec refuses NaN, Infinity, lone surrogates, bad UTF-8 and integers without measure, and names the place;
    duplicate keys it lets pass, the last one winning, so a second reading looks for them.

    Raises
    ------
    RequestRefused
        In one sentence, whatever is wrong with the text or its types; its place is as exact as msgspec tells it.
    """
    value = decode_part(decoder, body)
    try:
        # Numbers are not its business: `len` stands for reading them, and no digits are too many for it.
        json.loads(body, object_pairs_hook=_unique, parse_int=len, parse_float=len)
    except RecursionError:
        raise RequestRefused(_TOO_DEEP, kind="too_deep") from None
    except json.JSONDecodeError as refusal:
        raise RequestRefused(f"the body is not valid JSON: {refusal.msg}", kind="json_invalid") from None
    return value


def decode_part(decoder: msgspec.json.Decoder[T], raw: bytes | msgspec.Raw) -> T:
    """Read a part of a body that `decode` left raw; its keys have been looked at.

    Raises
    ------
    RequestRefused
        As `decode`.
    """
    try:
        return decoder.decode(raw)
    except RecursionError:
        raise RequestRefused(_TOO_DEEP, kind="too_deep") from None
    except msgspec.ValidationError as refusal:
        place, kind = _place(str(refusal))
        raise RequestRefused(f"the request has the wrong shape: {refusal}", place=place, kind=kind) from None
    except msgspec.DecodeError as refusal:
        raise RequestRefused(f"the body is not valid JSON: {refusal}", kind="json_invalid") from None
    except UnicodeDecodeError:
        raise RequestRefused("the body is not valid JSON: it is not UTF-8", kind="json_invalid") from None


_AT = re.compile(r" - at `(?P<key>key in )?\$(?P<path>[^`]*)`$")
_STEP = re.compile(r"\.(?P<name>[^.\[]+)|\[(?P<index>\d+)\]")
_MISSING = re.compile(r"missing required field `(?P<name>[^`]+)`")


def _place(refusal: str) -> tuple[Place, str]:
    """Where a refusal of msgspec's points to, and what kind of refusal it is; of a mapping it does not tell the key."""
    at = _AT.search(refusal)
    path = at["path"].partition("[...]")[0] if at else ""
    steps = tuple(step["name"] or int(step["index"]) for step in _STEP.finditer(path))
    missing = _MISSING.search(refusal)
    return ((*steps, missing["name"]), "missing") if missing else (steps, "type_error")


def decode_value(raw: msgspec.Raw) -> JsonValue:
    """Read a part that `decode` left raw.

    Raises
    ------
    RequestRefused
        As `decode`, and where the value nests deeper than `MAX_DEPTH`.
    """
    value = cast(JsonValue, decode_part(_ANY, raw))
    refuse_depth(value)
    return value


def same(left: msgspec.Raw, right: msgspec.Raw) -> bool:
    """Whether two raw parts are one JSON value: the order of keys does not count, types do (1 is not 1.0)."""
    if bytes(left) == bytes(right):
        return True
    return _canonical(decode_value(left)) == _canonical(decode_value(right))


def _canonical(value: JsonValue) -> bytes:
    # Not ==, for which 1, 1.0 and True are one value.
    return msgspec.json.encode(value, order="sorted")


_ANY = msgspec.json.Decoder()
_TOO_DEEP = f"the request nests too deep: {MAX_DEPTH} levels of arrays and objects are allowed"


def refuse_depth(value: JsonValue) -> None:
    """Raise `RequestRefused` where the value nests deeper than `MAX_DEPTH`, without recursion."""
    level = _containers([value])
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in _children(parent)]
        if not level:
            return
    raise RequestRefused(_TOO_DEEP, kind="too_deep")


def _children(parent: _Container) -> list[_Container]:
    return _containers(parent if isinstance(parent, list) else parent.values())


def _containers(values: Iterable[JsonValue]) -> list[_Container]:
    return [value for value in values if isinstance(value, list | dict)]


def _unique(pairs: list[tuple[str, object]]) -> None:
    names = {name for name, _ in pairs}
    if len(names) == len(pairs):
        return
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise RequestRefused(f"an object has the key {name!r} twice: give each key once", kind="duplicate_key")
        seen.add(name)
