"""What docs/environments.md shows is what a person can write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel

from stacks.environment import Settings, load_environments
from tests.support.synth import ROOT
from tests.support.tiny_gguf import write_tiny_gguf

PAGE = (ROOT / "docs" / "environments.md").read_text()


def _block(language: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    return str(block)


def test_the_example_loads_and_is_an_environment_on_aws(tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text(_block("yaml"))

    (environment,) = load_environments(tmp_path, root=ROOT)

    assert (environment.endpoint_name, environment.local, environment.retain) == ("decisions-dev", False, True)


def test_the_source_that_the_script_prints_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models").mkdir()
    write_tiny_gguf(tmp_path / "models" / "my-model.gguf", seed=1)
    monkeypatch.chdir(tmp_path)
    exec(compile(_block("python"), "docs/environments.md", "exec"), {})  # noqa: S102 - our own page

    document = yaml.safe_load(_block("yaml"))
    document["model"]["source"] = yaml.safe_load(capsys.readouterr().out)
    (tmp_path / "environments").mkdir()
    (tmp_path / "environments" / "dev.yaml").write_text(yaml.safe_dump(document))

    (environment,) = load_environments(tmp_path / "environments", root=tmp_path)
    assert environment.settings.model.source.local.path == "models/my-model.gguf"


def test_the_table_has_exactly_the_keys_that_a_file_may_have() -> None:
    named = re.findall(r"^\| `([\w.]+)` \|", PAGE, re.MULTILINE)

    assert sorted(named) == sorted(_keys(Settings))


def _keys(section: type[BaseModel]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from (f"{name}.{key}" for key in _keys(field.annotation))
        else:
            yield name
