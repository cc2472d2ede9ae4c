"""The examples in the documentation are run, and the library stays small."""

from __future__ import annotations

import doctest
import importlib
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "name",
    ["client", "decisions", "doctor.bootstrap", "doctor.finding", "place", "report", "results", "template_values"],
)
def test_the_examples_of_the_docstrings_hold(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"decision_client.{name}"))

    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_library_needs_nothing_but_boto3() -> None:
    code = "import decision_client, sys; print(', '.join({'rich', 'typer', 'aws_cdk'} & set(sys.modules)))"

    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (imported.stdout.strip(), imported.stderr, imported.returncode) == ("", "", 0)
