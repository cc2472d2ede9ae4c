"""Findings that a person looked at and lets stand, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, order=True, slots=True)
class Finding:
    """What a rule says of a construct. `path` is within the environment; `detail` tells findings of one rule apart."""

    rule: str
    path: str
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.rule}" + (f"[{self.detail}]" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Findings of one rule at exactly these constructs that stand for one reason.

    Where a rule has several findings at a construct, such as one for each wildcard of a policy, `details` names each.
    Every combination must be found in at least one environment, else it is told to go.
    """

    rule: str
    paths: tuple[str, ...]
    reason: str
    details: tuple[str, ...] = ("",)

    def findings(self) -> Iterator[Finding]:
        """Each finding that it lets stand."""
        for path in self.paths:
            for detail in self.details:
                yield Finding(self.rule, path, detail)


def reasons(table: Iterable[Acknowledged]) -> dict[Finding, str]:
    """The reason for each finding that may stand."""
    return {finding: entry.reason for entry in table for finding in entry.findings()}


def stale(table: Iterable[Acknowledged], found: Iterable[Finding]) -> list[str]:
    """A sentence for each acknowledgement of what nothing finds any more."""
    missing = reasons(table).keys() - set(found)
    return [
        f"{finding}: acknowledged, but not found any more: remove it from gate/acknowledged.py"
        for finding in sorted(missing)
    ]
