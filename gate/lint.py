"""cfn-lint, with the resource schemas that it brings: ``python -m gate.lint FOLDER``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from cfnlint.config import ConfigMixIn
from cfnlint.decode import decode
from cfnlint.runner import Runner

from .acknowledged import LINT
from .acknowledgement import Acknowledged, Finding, reasons, stale
from .assembly import Template, read_templates
from .refused import report


def judge(templates: Sequence[Template], table: Sequence[Acknowledged]) -> list[str]:
    """A sentence for each finding that is not acknowledged, and for each acknowledgement without a finding."""
    known = reasons(table)
    found: set[Finding] = set()
    left = []
    # Loading the rules takes longer than a template.
    runners = {region: Runner(ConfigMixIn(regions=[region])) for region in {template.region for template in templates}}
    for template in templates:
        for finding, message in _findings(template, runners[template.region]):
            found.add(finding)
            if finding not in known:
                left.append(f"{template.environment}/{finding}: {message}")
    return left + stale(table, found)


def _findings(template: Template, runner: Runner) -> Iterator[tuple[Finding, str]]:
    # cfn-lint's own reading keeps the lines that its findings are about.
    document, unreadable = decode(str(template.path))
    for match in unreadable or runner.validate_template(document):
        where = [str(part) for part in match.path or ()]
        # The logical id of a resource, output or parameter stands below the name of its section.
        logical_id = where[1] if len(where) > 1 else ""
        yield Finding(match.rule.id, template.construct_paths.get(logical_id, template.name)), match.message


def main(arguments: list[str]) -> int:
    """Lint every template in the synthesized folder that is named."""
    templates = read_templates(Path(arguments[0]))
    return report(
        judge(templates, LINT), passed=f"cfn-lint finds nothing that is not acknowledged in {len(templates)} templates."
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
