"""System One's published confidence: how far an answer is from knowing nothing, 0 to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence


def of_choice(probabilities: Sequence[float]) -> float:
    """How far the most probable option is above an even spread.

    >>> round(of_choice([0.94, 0.06, 0]), 9), of_choice([1.0])
    (0.91, 1.0)
    """
    count = len(probabilities)
    if count == 1:
        return 1.0
    return min(1.0, max(0.0, (count * max(probabilities) - 1) / (count - 1)))


def of_score(probabilities: Sequence[float]) -> float:
    """How near the levels' probability lies to the most probable one, against an even spread around the middle.

    >>> round(of_score([0.0023, 0.116, 0.6753, 0.2064]), 3), of_score([0.5, 0, 0, 0.5])
    (0.673, 0.0)
    """
    count = len(probabilities)
    mode = max(range(count), key=probabilities.__getitem__)
    spread = math.fsum(p * abs(level - mode) for level, p in enumerate(probabilities))
    even = math.fsum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return max(0.0, 1 - spread / even)
