"""Filter patterns of CloudWatch Logs: JSON patterns, and words that a line must have.

Source: Amazon CloudWatch Logs user guide, "Filter pattern syntax for metric filters".
"""

from __future__ import annotations

import fnmatch
import json
import math
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_ABSENT = object()
_TOKENS = re.compile(
    r"""\s*(?:(?P<sign>&&|\|\||!=|>=|<=|[()=<>])|"(?P<text>(?:[^"\\]|\\.)*)"|(?P<word>[^\s()=<>!&|"]+))""",
    re.DOTALL,
)
_STEPS = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\[\"([^\"]+)\"\]")
_ORDER: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}

Test = Callable[[Any], bool]


class PatternError(ValueError):
    """A pattern that CloudWatch Logs would refuse, or one that is not known here."""


@dataclass(frozen=True)
class FilterPattern:
    """A pattern that lines match or not.

    Examples
    --------
    >>> pattern = FilterPattern.parse('{ $.event = "request" && ($.status = 503 || $.ms > 9.5) }')
    >>> pattern.matches('{"event": "request", "status": 200, "ms": 10}')
    True
    """

    _test: Test

    @classmethod
    def parse(cls, text: str) -> FilterPattern:
        """Read a pattern; raises `PatternError`."""
        stripped = text.strip()
        if stripped.startswith("{"):
            if not stripped.endswith("}"):
                raise PatternError(f"Invalid metric filter pattern {text!r}: a JSON pattern ends with a brace")
            return cls(_on_json(_Parser(stripped[1:-1]).whole()))
        if stripped.startswith("[") or re.search(r"(^|\s)[?%-]", stripped):
            raise PatternError(f"The local cloud reads JSON patterns and plain words, not the pattern {text!r}")
        words = [found[1] or found[2] for found in re.finditer(r'"([^"]+)"|(\S+)', stripped)]
        return cls(lambda line: all(word in line for word in words))

    def matches(self, line: str) -> bool:
        """Whether a log line matches."""
        return self._test(line)


def selected(line: str, selector: str) -> Any:
    """The value of a selector as `$.queue_ms` in a JSON line; None where there is none."""
    try:
        found = _select(json.loads(line), _steps(selector))
    except (ValueError, RecursionError):
        return None
    return None if found is _ABSENT else found


def _on_json(test: Test) -> Test:
    def matches(line: str) -> bool:
        try:
            content = json.loads(line)
        except (ValueError, RecursionError):
            return False
        return isinstance(content, dict | list) and test(content)

    return matches


def _steps(selector: str) -> list[str | int]:
    steps: list[str | int] = []
    position = 1
    while selector.startswith("$") and position < len(selector):
        found = _STEPS.match(selector, position)
        if found is None:
            break
        steps.append(int(found[2]) if found[2] else found[1] or found[3])
        position = found.end()
    if not steps or position < len(selector):
        raise PatternError(f"Invalid property selector {selector!r}: write it as $.field or $.list[0].field")
    return steps


def _select(content: Any, steps: list[str | int]) -> Any:
    for step in steps:
        try:
            content = content[step]
        except (LookupError, TypeError):
            return _ABSENT
    return content


class _Parser:
    """Reads the inside of a JSON pattern; `&&` binds closer than `||`."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[str, str]] = []
        position = 0
        while text[position:].strip():
            found = _TOKENS.match(text, position)
            if found is None:
                raise self._error(f"unexpected {text[position:].strip()[:20]!r}")
            kind = str(found.lastgroup)
            self._tokens.append((kind, found[kind]))
            position = found.end()

    def whole(self) -> Test:
        test = self._either()
        if self._tokens:
            raise self._error(f"unexpected {self._tokens[0][1]!r}")
        return test

    def _either(self) -> Test:
        tests = [self._both()]
        while self._take_if("sign", "||"):
            tests.append(self._both())
        return lambda content: any(test(content) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self._take_if("sign", "&&"):
            tests.append(self._one())
        return lambda content: all(test(content) for test in tests)

    def _one(self) -> Test:
        if self._take_if("sign", "("):
            inner = self._either()
            if not self._take_if("sign", ")"):
                raise self._error("a bracket is not closed")
            return inner
        _kind, selector = self._take()
        steps = _steps(selector)
        kind, comparison = self._take()
        if kind == "word":
            return self._state(steps, comparison)
        if comparison not in _ORDER:
            raise self._error(f"unexpected {comparison!r}")
        kind, value = self._take()
        if kind == "sign":
            raise self._error(f"unexpected {value!r}")
        return _comparison(steps, comparison, value, quoted=kind == "text")

    def _state(self, steps: list[str | int], word: str) -> Test:
        state = f"{word} {self._take()[1]}".upper()
        if state == "NOT EXISTS":
            return lambda content: _select(content, steps) is _ABSENT
        states = {"IS TRUE": True, "IS FALSE": False, "IS NULL": None}
        if state not in states:
            raise self._error(f"unexpected {state!r}")
        return lambda content: _select(content, steps) is states[state]

    def _take(self) -> tuple[str, str]:
        if not self._tokens:
            raise self._error("it ends too early")
        return self._tokens.pop(0)

    def _take_if(self, kind: str, text: str) -> bool:
        if self._tokens[:1] != [(kind, text)]:
            return False
        self._tokens.pop(0)
        return True

    def _error(self, what: str) -> PatternError:
        return PatternError(f"Invalid metric filter pattern {{{self._text}}}: {what}")


def _comparison(steps: list[str | int], sign: str, value: str, *, quoted: bool) -> Test:
    """Numbers are compared with numbers; text with text, where `*` stands for anything."""
    number = None if quoted else _number(value)
    if number is not None:
        return lambda content: _is_number(found := _select(content, steps)) and _ORDER[sign](found, number)
    if sign not in ("=", "!="):
        raise PatternError(f"Invalid metric filter pattern: {sign} compares with a number, not with {value!r}")

    def matches(content: Any) -> bool:
        found = _select(content, steps)
        return isinstance(found, str) and fnmatch.fnmatchcase(found, value.replace("[", "[[]")) == (sign == "=")

    return matches


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _is_number(found: Any) -> bool:
    return isinstance(found, int | float) and not isinstance(found, bool)
