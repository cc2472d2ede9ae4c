"""The examples in the documentation are run, and the library stays small."""

from __future__ import annotations

import doctest
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(
    "name",
    [
        "__init__",
        "answers",
        "client",
        "decisions",
        "doctor.bootstrap",
        "doctor.finding",
        "place",
        "questions",
        "reading",
        "report",
        "results",
        "retrying",
        "template_values",
    ],
)
def test_the_examples_of_the_docstrings_hold(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(f"decision_client.{name}"))

    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_the_library_needs_nothing_but_boto3() -> None:
    code = "import decision_client, sys; print(', '.join({'rich', 'typer', 'aws_cdk'} & set(sys.modules)))"

    imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)

    assert (imported.stdout.strip(), imported.stderr, imported.returncode) == ("", "", 0)


@pytest.mark.parametrize("page", ["README.md", "docs/client.md"])
def test_the_python_of_a_page_runs_from_top_to_bottom(
    page: str, runtime_api: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """AWS and the local cloud are both the API on loopback."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", runtime_api.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "123456789012")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.delenv("AWS_PROFILE", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    described = {"pid": 1, "port": runtime_api.port, "account": "123456789012", "region": "us-east-1"}
    (tmp_path / ".local-cloud").mkdir()
    (tmp_path / ".local-cloud" / "cloud.json").write_text(json.dumps(described))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    text = (Path(__file__).resolve().parents[3] / page).read_text()

    for block in re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        exec(compile(block, page, "exec"), names)  # noqa: S102 - our own page

    assert names["result"].choice == "account-access"
