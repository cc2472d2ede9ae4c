"""The Dockerfile, performed on this machine, makes an image that serves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from decision_endpoints.assets import adapter_image_folder
from local_cloud.engine_folder import engine_folder
from tests.support.adapter_process import AdapterProcess
from tests.support.image_rehearsal import Image, rehearse
from tests.support.semif_requests import single

BASE = {"BASE_IMAGE": f"763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:{'1f19c220' * 8}"}


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    engine = engine_folder()
    assert engine, "the llama.cpp engine is not installed: run `npm ci`"
    with adapter_image_folder() as context:
        return rehearse(context, tmp_path_factory.mktemp("image"), BASE, engine=engine)


@pytest.fixture(scope="module")
def container(image: Image, tiny_folder: Path) -> Iterator[AdapterProcess]:
    """As SageMaker starts it: it appends the word `serve`. What the paths of a container would say is said here."""
    paths = {"DECISION_ENGINE_DIR": str(image.root / "opt/llama.cpp/bin"), "DECISION_MODEL_DIR": str(tiny_folder)}
    told = {**image.environment, **paths, "DECISION_THREADS": "1"}
    with AdapterProcess(told, command=[*image.entry_point, "serve"]) as process:
        yield process.ready()


def test_the_image_answers_a_decision(container: AdapterProcess) -> None:
    with container.client() as client:
        answer = client.post("/invocations", json=single())

    assert answer.status_code == 200, answer.text
    assert answer.json()["result"]["option_ids"] == ["account-access", "billing"]


def test_the_image_runs_its_own_code_and_packages(image: Image) -> None:
    folder = image.root / "opt/decision-adapter"

    assert {"decision_adapter", "decision_provenance", "uvicorn", "msgspec"} <= {each.name for each in folder.iterdir()}
    assert image.environment["PYTHONPATH"] == str(folder)


def test_the_image_carries_byte_code_for_each_of_its_modules(image: Image) -> None:
    package = image.root / "opt/decision-adapter/decision_adapter"

    modules = {each.stem for each in package.glob("*.py")}
    assert {each.name.partition(".")[0] for each in (package / "__pycache__").iterdir()} == modules


def test_the_port_may_be_chosen_by_the_host(image: Image) -> None:
    assert image.labels["com.amazonaws.sagemaker.capabilities.accept-bind-to-port"] == "true"


def test_a_base_that_is_no_digest_stops_the_build(tmp_path: Path) -> None:
    with (
        adapter_image_folder() as context,
        pytest.raises(AssertionError, match=r"BASE_IMAGE is 'llama-cpp:latest': give it by digest"),
    ):
        rehearse(context, tmp_path, {"BASE_IMAGE": "llama-cpp:latest"}, engine=tmp_path)
