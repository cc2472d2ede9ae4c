"""The one error of the library: everything that is wrong with the arguments of a construct, at once."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InvalidArguments(ValueError):
    """Arguments that cannot work, found at synth, before anything costs money.

    Parameters
    ----------
    what:
        The construct or class that refuses, with its path where it has one: ``"DecisionEndpoint
        dev/Endpoint/Decisions"``.
    complaints:
        One sentence for each thing to change: what was found, what is allowed, what to write instead.

    Examples
    --------
    >>> raise InvalidArguments("CpuInstance", ["threads is 0: give at least 1", "…"])
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: CpuInstance: threads is 0: give at least 1; …
    """

    def __init__(self, what: str, complaints: Iterable[str]) -> None:
        self.complaints = tuple(complaints)
        super().__init__(f"{what}: {'; '.join(self.complaints)}")


def did_you_mean(found: str, allowed: Iterable[str]) -> str:
    """The end of a refusal: the nearest allowed word, or all of them when none is near.

    >>> did_you_mean("ml.c6i.xlrge", ["ml.c6i.xlarge", "ml.m5.large"])
    'did you mean ml.c6i.xlarge?'
    >>> did_you_mean("gpu", ["checkout", "ecr"])
    'allowed are checkout, ecr'
    """
    choices = list(allowed)
    nearest = get_close_matches(found, choices, n=1, cutoff=0.6)
    return f"did you mean {nearest[0]}?" if nearest else f"allowed are {', '.join(choices)}"
