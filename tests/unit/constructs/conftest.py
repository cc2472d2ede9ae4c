"""One template of everything, made once: most promises can be read from it."""

from __future__ import annotations

import pytest
from aws_cdk.assertions import Template

from tests.support.synth import endpoint, new_stack, source


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    stack = new_stack()
    endpoint(stack, source(tmp_path_factory.mktemp("model")))
    return Template.from_stack(stack)
