"""The findings as a person reads them, and as a machine does."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from decision_client.doctor.finding import Finding, Status, worst

_STYLES = {Status.OK: "green", Status.MISSING: "bold red", Status.UNKNOWN: "yellow"}


def show_findings(console: Console, environment: str, assembly: str, findings: Sequence[Finding]) -> None:
    """Print a table, then one line that says how it stands."""
    console.print(Text.assemble((environment, "bold"), f"  from {assembly}"), Text(), sep="\n")
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    for _ in range(3):
        table.add_column(overflow="fold")
    table.add_column(overflow="fold", ratio=1)
    for finding in findings:
        status = Text(finding.status.value, style=_STYLES[finding.status])
        table.add_row(status, Text(finding.check), Text(finding.subject), Text(finding.sentence))
    console.print(table, Text(), sep="\n")
    open_links = [(finding.subject, finding.link) for finding in findings if finding.link and not finding.is_ok]
    for subject, link in dict.fromkeys(open_links):
        # Whole, on a line of its own, however narrow the terminal: it is there to be clicked.
        console.print(Text.assemble((f"{subject}  ", "dim"), link), soft_wrap=True)
    if open_links:
        console.print()
    console.print(Text(_summary(findings), style=_STYLES[worst(findings)]))


def findings_json(environment: str, assembly: str, findings: Sequence[Finding]) -> str:
    """One JSON object; `status` of the whole is the worst of the findings."""
    document = {
        "environment": environment,
        "assembly": assembly,
        "status": worst(findings).value,
        "findings": [
            {
                "check": finding.check,
                "subject": finding.subject,
                "status": finding.status.value,
                "sentence": finding.sentence,
                "link": finding.link,
            }
            for finding in findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _summary(findings: Sequence[Finding]) -> str:
    missing, unknown = (
        sum(finding.status is status for finding in findings) for status in (Status.MISSING, Status.UNKNOWN)
    )
    if not missing and not unknown:
        return "Nothing is missing."
    return f"{missing} missing, {unknown} not known."
