"""cfn-lint's findings fail the gate unless each is acknowledged."""

from __future__ import annotations

from pathlib import Path

import pytest

from gate.acknowledgement import Acknowledged
from gate.assembly import Template, read_templates
from gate.lint import judge
from tests.support.assemblies import write_assembly

# A queue's delay is at most 900 seconds.
SLOW = {
    "Type": "AWS::SQS::Queue",
    "Properties": {"DelaySeconds": 901},
    "DeletionPolicy": "Delete",
    "UpdateReplacePolicy": "Delete",
}
STANDS = Acknowledged("E3034", ("Endpoint/Queue/Resource",), "Nobody reads it.")


@pytest.fixture
def templates(tmp_path: Path) -> list[Template]:
    """One template with one fault."""
    return read_templates(write_assembly(tmp_path, {"dev/Endpoint": {"Queue": SLOW}}))


def test_a_bad_template_is_found(templates: list[Template]) -> None:
    (problem,) = judge(templates, ())

    assert problem.startswith("dev/Endpoint/Queue/Resource: E3034: 901 ")


def test_an_acknowledged_finding_stands(templates: list[Template]) -> None:
    assert judge(templates, [STANDS]) == []


def test_an_acknowledgement_of_what_is_not_found_any_more_fails(tmp_path: Path) -> None:
    mended = SLOW | {"Properties": {"DelaySeconds": 900}}
    templates = read_templates(write_assembly(tmp_path, {"dev/Endpoint": {"Queue": mended}}))

    (problem,) = judge(templates, [STANDS])

    assert problem.startswith("Endpoint/Queue/Resource: E3034: acknowledged, but not found any more")
