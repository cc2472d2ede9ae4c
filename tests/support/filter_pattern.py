"""CloudWatch Logs' filter patterns over JSON lines, as far as we use them; anything else is refused, not guessed.

A comparison with a field that a line lacks is false; text is compared with quoted text, numbers with numbers.

Source: Amazon CloudWatch Logs user guide, "Filter pattern syntax for metric filters".
"""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?:(?P<bracket>[()])|(?P<join>&&|\|\|)|(?P<field>\$\.[A-Za-z_][A-Za-z0-9_]*)
    |(?P<compare>!=|<=|>=|=|<|>)|(?P<text>"[^"\\*]*")|(?P<number>-?[0-9]+(?:\.[0-9]+)?))""",
    re.VERBOSE,
)
_NUMBER_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TEXT_COMPARISONS: dict[str, Callable[[str, str], bool]] = {"=": operator.eq, "!=": operator.ne}

Condition = Callable[[dict[str, Any]], bool]


class UnknownPattern(ValueError):
    """Not of the part of the grammar that is known here."""


class FilterPattern:
    """One pattern.

    Parameters
    ----------
    pattern:
        As it stands in a template: ``{ ($.event = "request") && ($.status >= 500) }``.

    Raises
    ------
    UnknownPattern
        If it uses anything but fields of the top level, comparisons with text and numbers, brackets, && and ||.
    """

    def __init__(self, pattern: str) -> None:
        found = re.fullmatch(r"\s*\{(.*)\}\s*", pattern)
        if found is None:
            raise UnknownPattern(f"{pattern!r} is no JSON pattern: it has no braces")
        self._tokens = _tokens(found[1])
        self._matches = self._any()
        if self._tokens:
            raise UnknownPattern(f"{pattern!r} goes on with {self._tokens[0][1]!r}")

    def matches(self, line: str) -> bool:
        """Whether it matches a log line; never one that is no JSON object."""
        try:
            found = json.loads(line)
        except ValueError:
            return False
        return isinstance(found, dict) and self._matches(found)

    def _any(self) -> Condition:
        conditions = self._joined("||", self._all)
        return lambda line: any(condition(line) for condition in conditions)

    def _all(self) -> Condition:
        conditions = self._joined("&&", self._one)
        return lambda line: all(condition(line) for condition in conditions)

    def _joined(self, join: str, part: Callable[[], Condition]) -> list[Condition]:
        conditions = [part()]
        while self._tokens and self._tokens[0] == ("join", join):
            self._tokens.pop(0)
            conditions.append(part())
        return conditions

    def _one(self) -> Condition:
        if self._tokens and self._tokens[0] == ("bracket", "("):
            self._tokens.pop(0)
            inner = self._any()
            self._take("bracket", ")")
            return inner
        field, compare = self._take("field"), self._take("compare")
        if self._tokens and self._tokens[0][0] == "number":
            return _number(field, compare, float(self._take("number")))
        return _text(field, compare, self._take("text").strip('"'))

    def _take(self, kind: str, value: str | None = None) -> str:
        if not self._tokens or self._tokens[0][0] != kind or value not in (None, self._tokens[0][1]):
            raise UnknownPattern(f"expected a {kind}, there is {self._tokens[:1]}")
        return self._tokens.pop(0)[1]


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens, position = [], 0
    while text[position:].strip():
        found = _TOKEN.match(text, position)
        if found is None or found.lastgroup is None:
            raise UnknownPattern(f"{text[position:]!r} begins with nothing that is known here")
        tokens.append((found.lastgroup, found[found.lastgroup]))
        position = found.end()
    return tokens


def _number(field: str, compare: str, number: float) -> Condition:
    def matches(line: dict[str, Any]) -> bool:
        value = line.get(field.removeprefix("$."))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return _NUMBER_COMPARISONS[compare](value, number)

    return matches


def _text(field: str, compare: str, text: str) -> Condition:
    if compare not in _TEXT_COMPARISONS:
        raise UnknownPattern(f"{field} {compare} {text!r}: text is only compared with = and !=")

    def matches(line: dict[str, Any]) -> bool:
        value = line.get(field.removeprefix("$."))
        return isinstance(value, str) and _TEXT_COMPARISONS[compare](value, text)

    return matches
