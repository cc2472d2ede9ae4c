"""What all tests share: how they are spread over workers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

# jsii reads these when it starts, which is when a test module imports the CDK. Its banner about Node 20 would be in
# every test's output; the CDK's own template validator takes most of a synth, and two tests that run an app have it on.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")
os.environ.setdefault("CDK_VALIDATION", "false")

# The gate must say the same of the same commit: property tests try the same examples each time.
settings.register_profile("gate", derandomize=True)
settings.load_profile("gate")

TESTS = Path(__file__).parent

# Folders whose tests share something that is slow to start, a local cloud or a running adapter: with
# `--dist loadgroup` one worker takes them all, so it is started once. (Groups need a pytest before 9.2: of that one,
# pytest-xdist 3.8.0 does not find the groups.) A deploy takes longer than a cloud: those are spread by file.
SHARE_A_FIXTURE = ("contract", "unit/local_cloud", "unit/local_cloud_sagemaker", "unit/constructs")

# What starts a local cloud, a container or the app as processes of their own, or loads a model. `make check`, the gate
# before a deploy, has to be quick and to run without any of that; `make test` runs these after it.
STARTS_OR_LOADS = (
    "contract",
    "deploy",
    "unit/client/test_synthesized_assembly.py",
    "unit/adapter_engine",
    "unit/local_cloud",
    "unit/local_cloud_sagemaker",
    "unit/packaging_wheel",
    "unit/stacks/test_app.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        folder = item.path.parent.relative_to(TESTS).as_posix()
        starts_something = any(item.path.is_relative_to(TESTS / path) for path in STARTS_OR_LOADS)
        if starts_something or item.get_closest_marker("smollm2"):
            item.add_marker(pytest.mark.integration)
        if folder == "deploy":
            item.add_marker(pytest.mark.xdist_group(item.path.name))
        elif folder in SHARE_A_FIXTURE:
            item.add_marker(pytest.mark.xdist_group(folder))
    # The longest first: what is left for the end is short, and both workers end together.
    items.sort(key=lambda item: not item.path.is_relative_to(TESTS / "deploy"))
