"""The adapter on every build of llama.cpp that docs/adapter.md names: four layouts of structures, two of files.

A build is tried in processes of its own: no two of them are meant to share one.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from decision_adapter.llama import Library
from local_cloud.engine_folder import engine_folder
from tests.support.adapter_process import AdapterProcess
from tests.support.systemone_requests import QUESTIONS, systemone

ROOT = Path(__file__).parents[3]
HERE = Path(__file__).parent

# What depends on the engine: the binding, how it reads a vocabulary and a chat template, and whether scores are exact.
# (test_caller_text.py does too; it takes as long as all of these and its findings were the same on every build.)
DEPEND_ON_THE_ENGINE = ["chat_template", "layout", "library", "log", "prompt", "scorer", "slots"]

LONG_STATE = "I was charged twice in March, and the refund has not arrived. " * 10


def _beside_the_tests() -> Path | None:
    found = importlib.util.find_spec("xllamacpp")
    return Path(found.origin).parent if found and found.origin else None


@dataclass(frozen=True)
class Engine:
    """A build, where it lies on this machine, and how it gets there."""

    build: str
    find: Callable[[], Path | None]
    install: str

    @property
    def folder(self) -> Path:
        """Its folder; a test that needs it is skipped where it is not."""
        found = self.find()
        if found is None or not found.is_dir():
            pytest.skip(f"llama.cpp {self.build} is not here: run `{self.install}`")
        return found


DEFAULT = Engine("v0.5.0", engine_folder, "npm ci")
OTHERS = [
    Engine("b11549", _beside_the_tests, "make install"),
    Engine("b11063", lambda: ROOT / ".cache/engines/b11063/xllamacpp", "make engines"),
    Engine("b10566", lambda: ROOT / ".cache/engines/b10566/xllamacpp", "make engines"),
]

each_engine = pytest.mark.parametrize("engine", [DEFAULT, *OTHERS], ids=lambda engine: engine.build)


@pytest.fixture
def environment(tiny_path: Path) -> dict[str, str]:
    """What an adapter must be told to serve the tiny model, beside where its engine is."""
    return {"DECISION_MODEL_DIR": str(tiny_path.parent), "DECISION_THREADS": "1"}


@pytest.mark.parametrize("engine", OTHERS, ids=lambda engine: engine.build)
def test_what_is_tested_on_the_default_engine_holds_on_this_one(engine: Engine, tmp_path: Path) -> None:
    files = [str(HERE / f"test_{name}.py") for name in DEPEND_ON_THE_ENGINE]
    options = ["-n", "0", "-q", "-m", "not smollm2", "-p", "no:cacheprovider", "--basetemp", str(tmp_path / "its")]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    tried = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=ROOT,
        env=inherited | {"DECISION_ENGINE_DIR": str(engine.folder)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert tried.returncode == 0, tried.stdout[-10_000:] + tried.stderr


@each_engine
def test_an_adapter_on_this_engine_answers_with_the_same_bits_however_it_is_asked(
    engine: Engine, environment: dict[str, str]
) -> None:
    def ask(client: httpx.Client, *names: str) -> dict[str, tuple[Any, float]]:
        request = systemone({name: QUESTIONS[name] for name in names}, state=LONG_STATE)
        answered = client.post("/v1/systemone", json=request)
        assert answered.status_code == 200, answered.text
        mass = {name: one["slot_mass"] for name, one in answered.json()["x_provenance"]["answers"].items()}
        return {name: (answer, mass[name]) for name, answer in answered.json()["answers"].items()}

    names = list(QUESTIONS)
    told = environment | {"DECISION_ENGINE_DIR": str(engine.folder)}
    with AdapterProcess(told) as adapter, adapter.ready().client() as client:
        cold = ask(client, names[0])
        alone = {name: ask(client, name)[name] for name in names}
        together, turned = ask(client, *names), ask(client, *reversed(names))

    assert cold == {names[0]: alone[names[0]]}
    assert alone == together == turned


@each_engine
def test_an_adapter_on_this_engine_ends_with_the_reason_when_no_device_can_take_the_layers(
    engine: Engine, environment: dict[str, str]
) -> None:
    if platform.system() == "Darwin":
        pytest.skip("these builds have a Metal back end, which sees a GPU")
    told = environment | {"DECISION_ENGINE_DIR": str(engine.folder), "DECISION_GPU_LAYERS": "99"}
    with AdapterProcess(told) as adapter:
        code = adapter.exit_code()

    (line,) = adapter.events("model_refused")
    assert (code, line["cause"], line["asked"], line["offloaded"]) == (3, "offload", 99, 0)
    assert re.search(r"no GPU is visible; the devices are: \S", line["reason"])


@pytest.fixture
def altered_engine(library: Library, tmp_path: Path) -> Path:
    """The default engine, but for one thing: contexts have batches of 77 tokens unless they are told otherwise.

    That is how a build looks to the adapter whose structure begins with other fields. The defaults are one constant of
    16 bytes, which optimizing compilers lay down as a whole.
    """
    usual = struct.pack("<4I", 512, 2048, 512, 1)
    code = library.path.read_bytes()
    if code.count(usual) != 1:
        pytest.skip(f"{library.path.name} of {platform.machine()} does not hold its defaults in one piece")
    for beside in library.path.parent.iterdir():
        if beside != library.path:
            (tmp_path / beside.name).symlink_to(beside)
    (tmp_path / library.path.name).write_bytes(code.replace(usual, struct.pack("<4I", 512, 77, 512, 1)))
    return tmp_path


def test_an_adapter_ends_with_one_sentence_on_an_engine_whose_structures_it_does_not_know(
    altered_engine: Path, environment: dict[str, str]
) -> None:
    with AdapterProcess(environment | {"DECISION_ENGINE_DIR": str(altered_engine)}) as adapter:
        code = adapter.exit_code()

    (line,) = adapter.events("model_refused")
    assert (code, line["cause"]) == (3, "engine")
    assert re.fullmatch(
        r"\S+: llama_context_params begins with 512, 77, 512, 1, which is no layout this adapter knows: "
        r"use a build of llama\.cpp that it was tested with",
        line["reason"],
    )


def test_the_documentation_names_each_engine_and_no_other() -> None:
    _, _, table = (ROOT / "docs/adapter.md").read_text().partition("## Engines\n")

    assert re.findall(r"^\| (?:v|b)[\d.]+", table, re.MULTILINE) == [f"| {each.build}" for each in [DEFAULT, *OTHERS]]


def test_an_engine_named_in_the_environment_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DECISION_ENGINE_DIR", "/opt/llama.cpp/bin")

    assert engine_folder() == Path("/opt/llama.cpp/bin")


def test_every_build_fetched_for_the_tests_is_locked_by_hash() -> None:
    fetched = [engine.build for engine in OTHERS if engine.install == "make engines"]

    for build in fetched:
        lock = (ROOT / f"requirements-engine-{build}.txt").read_text()
        assert re.search(rf"^xllamacpp==\d+\.\d+\.{build[1:]} \\\n +--hash=sha256:", lock, re.MULTILINE)
    assert len(fetched) == len(list(ROOT.glob("requirements-engine-*.txt")))
