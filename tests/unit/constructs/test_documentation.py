"""The Python of docs/constructs.md runs as it stands, and its tables name every argument."""

from __future__ import annotations

import inspect
import re

import pytest
from aws_cdk import App

import decision_endpoints
from tests.support.synth import ROOT

PAGE = (ROOT / "docs" / "constructs.md").read_text()


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """What the page's blocks, run from top to bottom, leave defined."""
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        exec(compile(block, "docs/constructs.md", "exec"), names)  # noqa: S102 - our own page
    return names


def test_the_stacks_of_the_page_synthesize(names: dict[str, object]) -> None:
    app = names["app"]
    assert isinstance(app, App)

    assembly = app.synth()

    resources = assembly.get_stack_by_name("Routing").template["Resources"].values()
    kinds = [resource["Type"] for resource in resources]
    assert kinds.count("AWS::SageMaker::Endpoint") == 1


@pytest.mark.parametrize("name", sorted(set(decision_endpoints.__all__) - {"CheckoutImage", "InvalidArguments"}))
def test_the_table_of_a_construct_has_exactly_its_arguments(name: str) -> None:
    heading = "EcrImage and CheckoutImage" if name == "EcrImage" else name
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    firsts = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)

    documented = {argument for first in firsts for argument in re.findall(r"`(\w+)`", first)}

    # Not of the class: jsii's metaclass gives all of them one signature.
    arguments = set(inspect.signature(getattr(decision_endpoints, name).__init__).parameters) - {"self", "scope", "id"}
    assert documented == arguments
