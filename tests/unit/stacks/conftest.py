"""Every environment of the checkout, synthesized once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from stacks.app import add_environments
from tests.support.synth import ROOT, new_app

Templates = Mapping[str, Mapping[str, Any]]


@pytest.fixture(scope="session")
def templates() -> Templates:
    """The templates by stack name, such as ``dev-Endpoint``."""
    app = new_app()
    add_environments(app, root=ROOT)
    stages = app.synth().nested_assemblies
    return {stack.stack_name: stack.template for stage in stages for stack in stage.nested_assembly.stacks}
