"""Metric math over time series, as far as alarms commonly use it.

A value that is missing makes what is computed from it missing; the functions over a list take what is there.

Source: Amazon CloudWatch user guide, "Using math expressions with CloudWatch metrics".
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

Value = float | None
Series = list[Value]

_WORDS = {"&&": " and ", "||": " or ", "AND": " and ", "OR": " or "}
_JOINS = re.compile(r"&&|\|\||\bAND\b|\bOR\b")
_ARITHMETIC: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.BitXor: operator.pow,  # ^ is the power, as there is no other use of it
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_ONE_BY_ONE: dict[str, Callable[[float], float]] = {"ABS": abs, "CEIL": math.ceil, "FLOOR": math.floor}
_TOGETHER: dict[str, Callable[[Sequence[float]], float]] = {
    "AVG": lambda values: sum(values) / len(values),
    "MAX": max,
    "MIN": min,
    "SUM": sum,
}


class MathError(ValueError):
    """An expression that is wrong, or that is not known here; the text says which part."""


@dataclass(frozen=True)
class Expression:
    """One expression.

    Examples
    --------
    >>> Expression.parse("IF(all > 0, 100 * busy / all, 0)").over({"busy": [1.0, None], "all": [4.0, 0.0]}, 60, 2)
    [25.0, 0.0]
    """

    text: str
    _tree: ast.expr

    @classmethod
    def parse(cls, text: str) -> Expression:
        """Read an expression; raises `MathError` if it is none."""
        joined = _JOINS.sub(lambda found: _WORDS[found[0]], text)
        try:
            return cls(text, ast.parse(joined.strip(), mode="eval").body)
        except SyntaxError as error:
            raise MathError(f"Error in expression {text!r}: {error.msg}") from error

    @property
    def names(self) -> frozenset[str]:
        """The ids that it refers to."""
        called = {node.func for node in ast.walk(self._tree) if isinstance(node, ast.Call)}
        names = (node for node in ast.walk(self._tree) if isinstance(node, ast.Name) and node not in called)
        return frozenset(node.id for node in names if node.id != "REPEAT")

    def over(self, series: Mapping[str, Series], period: int, length: int) -> Series:
        """Its value in each of `length` periods of so many seconds; raises `MathError` for what is not known here."""
        return [self._value(self._tree, series, period, index) for index in range(length)]

    def _value(self, node: ast.expr, series: Mapping[str, Series], period: int, index: int) -> Value:
        def value(part: ast.expr) -> Value:
            return self._value(part, series, period, index)

        match node:
            case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
                return float(number)
            case ast.Name(id=name) if name in series:
                return series[name][index]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                found = value(operand)
                return None if found is None else -found
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _ARITHMETIC:
                return _arithmetic(_ARITHMETIC[type(sign)], value(left), value(right))
            case ast.Compare(left=left, ops=[sign], comparators=[right]) if type(sign) in _COMPARISONS:
                return _compared(_COMPARISONS[type(sign)], value(left), value(right))
            case ast.BoolOp(op=join, values=parts):
                return _joined(join, [value(part) for part in parts])
            case ast.Call(func=ast.Name(id="PERIOD"), args=[ast.Name()]):
                return float(period)
            case ast.Call(func=ast.Name(id="IF"), args=[condition, then, *otherwise]) if len(otherwise) < 2:
                return _chosen(
                    value(condition), lambda: value(then), lambda: value(otherwise[0]) if otherwise else None
                )
            case ast.Call(func=ast.Name(id="FILL"), args=[ast.Name() as filled, ast.Name(id="REPEAT")]):
                return next((each for each in reversed(series[filled.id][: index + 1]) if each is not None), None)
            case ast.Call(func=ast.Name(id="FILL"), args=[filled, filling]):
                found = value(filled)
                return value(filling) if found is None else found
            case ast.Call(func=ast.Name(id=name), args=[ast.List(elts=parts)]) if name in _TOGETHER:
                present = [found for part in parts if (found := value(part)) is not None]
                return float(_TOGETHER[name](present)) if present else None
            case ast.Call(func=ast.Name(id=name), args=[operand]) if name in _ONE_BY_ONE:
                found = value(operand)
                return None if found is None else float(_ONE_BY_ONE[name](found))
        raise MathError(f"The local cloud does not compute {ast.unparse(node)!r} of the expression {self.text!r}")


def _arithmetic(compute: Callable[[float, float], float], left: Value, right: Value) -> Value:
    if left is None or right is None:
        return None
    try:
        return compute(left, right)
    except (ZeroDivisionError, OverflowError):
        return None


def _compared(compare: Callable[[float, float], bool], left: Value, right: Value) -> Value:
    return None if left is None or right is None else float(compare(left, right))


def _joined(join: ast.boolop, values: Sequence[Value]) -> Value:
    if any(value is None for value in values):
        return None
    return float(all(values) if isinstance(join, ast.And) else any(values))


def _chosen(condition: Value, then: Callable[[], Value], otherwise: Callable[[], Value]) -> Value:
    if condition is None:
        return None
    return then() if condition else otherwise()
