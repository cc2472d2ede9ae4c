"""Read an answer's JSON piece by piece: what is not as it should be becomes one sentence that says where it stands."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

# A softmax may miss 1 by its rounding.
_MOST = 1 + 1e-6


class NotAnAnswer(ValueError):
    """The body is not the answer of a decision endpoint; the text says what is wrong with it."""


@dataclass(frozen=True)
class Part:
    """A value of an answer, and where it stands.

    Examples
    --------
    >>> answer = read_document(b'{"result": {"id": 7}}')
    >>> answer["result"]["id"].text()
    Traceback (most recent call last):
    ...
    decision_client.reading.NotAnAnswer: its 'result.id' is a number where text belongs
    """

    where: str
    value: Any

    def __getitem__(self, name: str) -> Part:
        found = self.get(name)
        if found is None:
            place = f"its {self.where!r}" if self.where else "it"
            raise NotAnAnswer(f"{place} has no field {name!r}")
        return found

    def get(self, name: str) -> Part | None:
        """A field that may be missing."""
        fields = self._object()
        return Part(f"{self.where}.{name}" if self.where else name, fields[name]) if name in fields else None

    def fields(self) -> Iterator[tuple[str, Part]]:
        """The fields of an object, in their order."""
        for name in self._object():
            yield name, self[name]

    def each(self) -> list[Part]:
        """The entries of an array."""
        if not isinstance(self.value, list):
            self._refuse("an array")
        return [Part(f"{self.where}[{index}]", value) for index, value in enumerate(self.value)]

    def text(self) -> str:
        """A text."""
        if not isinstance(self.value, str):
            self._refuse("text")
        return self.value

    def number(self) -> float:
        """A finite number."""
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float)):
            self._refuse("a number")
        try:
            number = float(self.value)
        except OverflowError:
            self._refuse("a number that fits a float")
        if not math.isfinite(number):
            self._refuse("a finite number")
        return number

    def share(self) -> float:
        """A number from 0 to 1."""
        number = self.number()
        if not 0 <= number <= _MOST:
            self._refuse("a number from 0 to 1")
        return number

    def count(self) -> int:
        """A whole number that is not negative."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            self._refuse("a whole number, 0 or more,")
        return self.value

    def _object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self._refuse("an object")
        return self.value

    def _refuse(self, belongs: str) -> NoReturn:
        # Never the value itself: it is as long and as deep as the sender liked.
        raise NotAnAnswer(f"its {self.where!r} is {_kind(self.value)} where {belongs} belongs")


def read_document(body: bytes) -> Part:
    """Decode an answer's JSON object.

    Raises
    ------
    NotAnAnswer
        If it is none.
    """
    try:
        document = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise NotAnAnswer(f"its body is no JSON ({error})") from error
    if not isinstance(document, dict):
        raise NotAnAnswer("its body is no JSON object")
    return Part("", document)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"it has {name}")


def _kind(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "an array"
    return "an object"
