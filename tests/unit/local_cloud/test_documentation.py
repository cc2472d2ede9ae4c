"""The examples in the docstrings say what happens."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module",
    [
        "aws_model",
        "chat_stand_in.settings",
        "cloudformation_schema",
        "cloudwatch.filter_pattern",
        "cloudwatch.metric_math",
        "codebuild.buildspec",
        "sagemaker.adapter_command",
    ],
)
def test_the_examples_of_a_module_hold(module: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"local_cloud.{module}"))

    assert outcome.attempted > 0
    assert outcome.failed == 0
