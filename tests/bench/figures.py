"""The benchmarks' own arithmetic: medians, percentiles, ratios round by round, and whether a run can be believed."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

MOST_VARIATION = 0.15
"""How far one measurement of a control may lie from their median: beyond it the machine was busy with something else,
and the run says nothing."""


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest rank: the smallest value that so many per cent of all do not exceed.

    >>> percentile([4.0, 1.0, 3.0, 2.0], 50), percentile([4.0, 1.0, 3.0, 2.0], 99)
    (2.0, 4.0)
    """
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def ratio(numerators: Sequence[float], denominators: Sequence[float]) -> float:
    """The median of the rounds' own ratios: what slows a whole round down slows both, and cancels.

    >>> ratio([2.0, 4.0, 30.0], [1.0, 2.0, 10.0])
    2.0
    """
    return statistics.median(above / below for above, below in zip(numerators, denominators, strict=True))


LEAST_ROUNDS = 5
"""With fewer, a control that seems to hold still may have been looked at too seldom."""


def variation(control: Sequence[float]) -> float:
    """The largest distance of a measurement from their median, as a share of it.

    >>> variation([9.0, 10.0, 12.0])
    0.2
    """
    middle = statistics.median(control)
    return max(abs(value - middle) for value in control) / middle


def is_valid(control: Sequence[float]) -> bool:
    """Whether a control held still enough, often enough.

    >>> is_valid([100.0] * 4 + [114.0]), is_valid([100.0] * 4 + [140.0]), is_valid([100.0] * 4)
    (True, False, False)
    """
    return len(control) >= LEAST_ROUNDS and variation(control) <= MOST_VARIATION


@dataclass(frozen=True)
class Target:
    """A figure and what it should be: `at_least` or else `at_most`. `valid` says whether its control held still."""

    name: str
    value: float
    bound: float
    at_least: bool
    valid: bool = True
    unit: str = ""

    @property
    def met(self) -> bool:
        """Whether the figure is on the right side of the bound."""
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    @property
    def verdict(self) -> str:
        """What a report says: of a run that cannot be believed, nothing else."""
        if not self.valid:
            return "INVALID"
        return "met" if self.met else "missed"

    @property
    def wanted(self) -> str:
        """The bound in words.

        >>> Target("level", 1.2, 1.0, at_least=True, unit="×").wanted
        '≥ 1×'
        """
        return f"{'≥' if self.at_least else '≤'} {self.bound:g}{self.unit}"


def failures(targets: Sequence[Target]) -> int:
    """How many were missed in a run that can be believed."""
    return sum(target.verdict == "missed" for target in targets)
