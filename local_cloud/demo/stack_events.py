"""Read what the CDK CLI prints while CloudFormation works: one line for each event of a stack."""

from __future__ import annotations

import re
from dataclasses import dataclass

# With `--progress events`: stack | 3/9 | 12:00:00 AM | CREATE_COMPLETE | AWS::S3::Bucket | Path/Of/It (Id) reason
_EVENT = re.compile(
    r"^(?P<stack>\S+) +\| *(?P<done>\d+)(?:/(?P<total>\d+))? \| [^|]+ \| (?P<status>[A-Z_]+) +\| (?P<type>\S+) +\| "
    r"(?P<resource>.+)$"
)
_RESOURCE = re.compile(r"^(?P<name>\S+(?: \([A-Za-z0-9]+\))?)(?: (?P<reason>.+))?$")
_CANCELLED = re.compile(r"^(Resource (creation|update) cancelled|Resource creation Initiated)\.?$", re.IGNORECASE)


@dataclass(frozen=True)
class StackEvent:
    """One event: what became of a resource, how many of the stack's are done, and the reason where one is given."""

    stack: str
    done: int
    total: int | None
    status: str
    type: str
    resource: str
    reason: str

    @property
    def is_failure(self) -> bool:
        """Whether it says why something failed; a resource that was cancelled because of another does not."""
        return self.status.endswith("_FAILED") and not _CANCELLED.match(self.reason)

    def in_short(self) -> str:
        """The event in a few words, for a line that the next one replaces."""
        count = f"{self.done}/{self.total}" if self.total else str(self.done)
        return f"{self.stack} {count} {self.type} {self.status}"


def read_event(line: str) -> StackEvent | None:
    """The event that a line of the CLI's output tells, if any."""
    found = _EVENT.match(line.strip())
    if found is None:
        return None
    resource = _RESOURCE.match(found["resource"].strip())
    return StackEvent(
        stack=found["stack"],
        done=int(found["done"]),
        total=int(found["total"]) if found["total"] else None,
        status=found["status"],
        type=found["type"],
        resource=resource["name"] if resource else found["resource"],
        reason=(resource["reason"] or "") if resource else "",
    )
