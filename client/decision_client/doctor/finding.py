"""What a check found."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Status(Enum):
    """How it stands with one thing that a deploy needs."""

    OK = "ok"
    MISSING = "missing"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Finding:
    """One thing that a deploy needs.

    Parameters
    ----------
    check:
        Which check found it.
    subject:
        What it is about.
    status, sentence:
        How it stands, and what to do if it is not ok.
    link:
        The page of the console where it is done, if there is one.
    """

    check: str
    subject: str
    status: Status
    sentence: str
    link: str | None = None

    @property
    def is_ok(self) -> bool:
        """Whether nothing is to do."""
        return self.status is Status.OK


def worst(findings: Iterable[Finding]) -> Status:
    """Missing before unknown before ok.

    Examples
    --------
    >>> worst([])
    <Status.OK: 'ok'>
    """
    found = {finding.status for finding in findings}
    return next((status for status in (Status.MISSING, Status.UNKNOWN) if status in found), Status.OK)
