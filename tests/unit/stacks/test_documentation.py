"""What docs/environments.md shows is what a person can write."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Union, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel

from decision_endpoints import QWEN3_5_4B
from stacks.environment import load_environments
from stacks.settings import Settings
from stacks.settings.model import File
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
    assert environment.settings.gguf(ROOT).digest == QWEN3_5_4B.digest


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
    source = environment.settings.gguf(tmp_path)
    assert [file.name for file in source.files] == ["my-model.gguf"]


def test_the_table_has_exactly_the_keys_that_a_file_may_have() -> None:
    _, _, table = PAGE.partition("## Key by key")
    named = re.findall(r"^\| `([\w.]+)` \|", table, re.MULTILINE)

    assert sorted(named) == sorted(set(_keys(Settings)) - UNUSED)


# Two ways of a rollout share a section; of these two keys, one of them has no use for the first.
UNUSED = {"endpoint.rollout.all_at_once.percent"}
# Lists and mappings whose items the page describes in their own row.
ROW_OF_ITS_OWN = (File,)


def _keys(section: type[BaseModel]) -> Iterator[str]:
    for name, field in section.model_fields.items():
        inner = field.annotation
        while get_origin(inner) in (Union, UnionType, list):
            inner = next(choice for choice in get_args(inner) if choice is not NoneType)
        if isinstance(inner, type) and issubclass(inner, BaseModel) and inner not in ROW_OF_ITS_OWN:
            yield from (f"{name}.{key}" for key in _keys(inner))
        else:
            yield name
