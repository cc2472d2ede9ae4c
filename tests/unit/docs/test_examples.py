"""What README and docs show is what the code takes.

The Python of README and docs/client.md runs in tests/unit/client, that of the construct pages in tests/unit/constructs,
that of docs/environments.md in tests/unit/stacks.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from decision_adapter.wire import Limits, invocations
from decision_client.decisions import request_for_one
from decision_client.examples import EXAMPLE_DECISION
from gate.acknowledged import SECURITY
from gate.acknowledgement import Acknowledged, reasons

ROOT = Path(__file__).resolve().parents[3]
RUN_IN_TESTS = {
    "README.md",
    "docs/client.md",
    "docs/constructs.md",
    "docs/environments.md",
    "docs/pull-requests.md",
    *(f"docs/constructs/{page.name}" for page in (ROOT / "docs" / "constructs").glob("*.md")),
    # Written from docstrings, whose examples run where the code is tested.
    "docs/api/decision_client.md",
    "docs/api/decision_endpoints.md",
}
ADAPTER_REQUESTS = re.findall(
    r"curl [^']*'Content-Type: application/json' -d '(.*?)'", (ROOT / "docs/adapter.md").read_text(), re.DOTALL
)


def test_no_page_has_python_json_or_yaml_that_no_test_runs() -> None:
    pages = [path for folder in (".", "docs", "docs/api", "docs/constructs") for path in (ROOT / folder).glob("*.md")]
    pages += (ROOT / "examples").rglob("*.md")

    with_code = {
        page.relative_to(ROOT).as_posix()
        for page in pages
        if re.search(r"^```(python|json|yaml)$", page.read_text(), re.MULTILINE)
    }
    assert with_code <= RUN_IN_TESTS


def test_the_request_in_the_readme_is_the_built_in_example() -> None:
    (shown,) = re.findall(r"^```json\n(.*?)^```", (ROOT / "README.md").read_text(), re.DOTALL | re.MULTILINE)

    assert json.loads(shown) == json.loads(request_for_one(EXAMPLE_DECISION))


def test_the_acknowledgement_that_is_shown_is_one_of_the_gate() -> None:
    (shown,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "pull-requests.md").read_text(), re.DOTALL | re.MULTILINE
    )

    acknowledged = eval(shown, {"Acknowledged": Acknowledged})  # noqa: S307 - our own page

    assert set(acknowledged.findings()) <= reasons(SECURITY).keys()


@pytest.mark.parametrize("body", ADAPTER_REQUESTS)
def test_the_adapter_takes_a_request_that_its_page_shows(body: str) -> None:
    asked = invocations.decode(body.encode(), Limits(max_decisions=64, max_options=255))

    assert asked.request.decisions
