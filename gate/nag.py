"""cdk-nag: AwsSolutions and NIST 800-53 R5, with no finding left but those acknowledged one by one.

cdk-nag lets an acknowledgement count for everything below the construct that carries it, and says nothing of one that
matches nothing. So each is set on exactly the resource that was found, and one without a finding is told to go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Acknowledgment, Validations
from cdk_nag import AwsSolutionsChecks, NagPack, NIST80053R5Checks
from constructs import IConstruct

from stacks.environment import Environment

from .acknowledgement import Acknowledged, Finding, reasons, stale

# What stands in a finding for a name that whoever edits an environment file chooses: for the name, what it says.
Names = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Violation:
    rule_id: str
    path: str
    description: str


def names_of(environment: Environment) -> Names:
    """What differs from environment to environment in the text of one and the same finding."""
    settings = environment.settings
    chosen = {
        environment.endpoint_name: "<endpoint>",
        settings.gguf(environment.root).name: "<model>",
        environment.name: "<environment>",
        settings.region: "<AWS::Region>",
    }
    return chosen | ({settings.account: "<AWS::AccountId>"} if settings.account else {})


def judge(scope: IConstruct, table: Sequence[Acknowledged], environments: Mapping[str, Names]) -> list[str]:
    """A sentence for each finding that is not acknowledged, and for each acknowledgement without a finding."""
    packs = (AwsSolutionsChecks(), NIST80053R5Checks())
    known = reasons(table)
    found: set[Finding] = set()
    for violation in _violations(packs, scope):
        finding = _finding(violation, environments)
        found.add(finding)
        if finding in known:
            _acknowledge(scope, violation, known[finding])
    left = [
        f"{violation.path}: {violation.rule_id}: {violation.description}. Mend it, or acknowledge it in "
        f"gate/acknowledged.py as {_finding(violation, environments)}"
        for violation in _violations(packs, scope)
    ]
    return left + stale(table, found)


def _violations(packs: Iterable[NagPack], scope: IConstruct) -> Iterator[_Violation]:
    for pack in packs:
        for violation in pack.validate_scope(scope).violations:
            for resource in violation.violating_resources:
                # What the rule says; the control numbers after it are in the pack's own list.
                says = violation.description.partition(" - (Control IDs")[0]
                yield _Violation(violation.rule_name, str(resource.construct_path), says.rstrip("."))


def _finding(violation: _Violation, environments: Mapping[str, Names]) -> Finding:
    environment, _, path = violation.path.partition("/")
    rule, _, detail = violation.rule_id.partition("[")
    detail = detail.removesuffix("]")
    names = environments.get(environment, {})
    # The longest first: an environment's name is often part of its endpoint's.
    for name in sorted(names, key=len, reverse=True):
        detail = re.sub(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", names[name], detail)
    return Finding(rule, path, detail)


def _acknowledge(scope: IConstruct, violation: _Violation, reason: str) -> None:
    construct = scope
    for id in violation.path.split("/"):
        construct = construct.node.find_child(id)
    Validations.of(construct).acknowledge(Acknowledgment(id=violation.rule_id, reason=reason))
