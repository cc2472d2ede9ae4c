"""The Python of the construct pages runs as it stands, and their tables name every argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App

import decision_endpoints
from tests.support.synth import ROOT

INDEX = ROOT / "docs" / "constructs.md"
PAGES = sorted((ROOT / "docs" / "constructs").glob("*.md"))
# Of these there is nothing to give.
WITHOUT_ARGUMENTS = {"QWEN3_5_4B", "InvalidArguments"}
# Its page names only what DecisionEndpoint does not have, and in words what it lacks.
CHAT_LACKS = {"context_tokens", "prefixes"}


@pytest.mark.parametrize("page", [INDEX, *PAGES], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs_from_top_to_bottom(page: Path) -> None:
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        exec(compile(block, str(page), "exec"), names)  # noqa: S102 - our own page

    if page == INDEX:
        app = names["app"]
        assert isinstance(app, App)
        stacks = [stack.stack_name for stack in app.synth().stacks]
        assert stacks == ["RoutingModels", "Routing"]


@pytest.mark.parametrize("name", decision_endpoints.__all__)
def test_the_index_leads_to_the_page_of_every_public_name(name: str) -> None:
    rows = [row for row in INDEX.read_text().splitlines() if row.startswith("| [") and f"`{name}`" in row]
    if name == "InvalidArguments":
        assert "as `InvalidArguments`." in INDEX.read_text()
        return

    (link,) = [re.findall(r"\((constructs/\S+)\)", row)[0] for row in rows]
    assert name in (INDEX.parent / link).read_text()


@pytest.mark.parametrize("name", sorted(set(decision_endpoints.__all__) - WITHOUT_ARGUMENTS))
def test_the_table_of_a_construct_has_exactly_its_arguments(name: str) -> None:
    documented = _documented()[name]
    if name == "ChatEndpoint":
        documented = documented | (_documented()["DecisionEndpoint"] - CHAT_LACKS)

    assert documented == _arguments(name)


def test_no_page_is_left_out_of_the_index() -> None:
    linked = set(re.findall(r"\(constructs/(\S+\.md)\)", INDEX.read_text()))

    assert linked == {page.name for page in PAGES}


@cache
def _documented() -> dict[str, set[str]]:
    """What the pages say that each public name takes.

    A table is about the name in its first cell or, where that says ``name``, about the one that its heading is. In the
    text, or in the first cell of a row, ``Name(first, second)`` says it too.
    """
    found: dict[str, set[str]] = {}
    for page in PAGES:
        text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
        heading, table = "", ""
        for line in text.splitlines():
            if line.startswith("#"):
                heading = line.lstrip("#").strip()
            elif not line.startswith("|"):
                table = ""
            elif not table:
                first = line.split("|")[1].strip()
                table = heading if first == "name" else first
            else:
                cell = line.split("|")[1]
                # Of Rollout the rows are its factories; what all of them take stands in a table of its own.
                about = "Rollout" if table == "of each" else table
                words = re.findall(r"\((.*?)\)", cell) if table == "Rollout" else re.findall(r"`(.*?)`", cell)
                found.setdefault(about, set()).update(word for text in words for word in re.findall(r"\w+", text))
        for name, arguments in re.findall(r"`([A-Z]\w+)\(([\w, ]*)\)`", text):
            if name in decision_endpoints.__all__:
                found.setdefault(name, set()).update(re.findall(r"\w+", arguments))
    return found


def _arguments(name: str) -> set[str]:
    documented = getattr(decision_endpoints, name)
    # Not of the class: jsii's metaclass gives all of them one signature. Rollout's own is for its factories alone.
    rollout = decision_endpoints.Rollout
    makers: list[Callable[..., Any]] = [rollout.all_at_once, rollout.canary, rollout.linear, rollout.rolling]
    if documented is not rollout:
        makers = [] if documented.__init__ is object.__init__ else [documented.__init__]
    return {argument for maker in makers for argument in inspect.signature(maker).parameters} - {"self", "scope", "id"}
