from __future__ import annotations

import hashlib
import io
from pathlib import Path

import pytest

from decision_adapter.errors import ModelRefused
from decision_adapter.loading import WrongModel, load_verified
from decision_adapter.request_log import Log
from decision_adapter.settings import Settings
from decision_provenance.digest import Digest
from decision_provenance.model_folder import ModelFiles
from tests.support.stub_scorer import StubScorer


class Loader:
    """Remembers what it was given to load."""

    def __init__(self) -> None:
        self.given: list[tuple[ModelFiles, Digest]] = []

    def __call__(self, files: ModelFiles, settings: Settings, digest: Digest) -> StubScorer:
        self.given.append((files, digest))
        return StubScorer()


def load(settings: Settings, loader: Loader, *, cancelled: bool = False) -> None:
    load_verified(settings, loader, Log(io.StringIO()), cancelled=lambda: cancelled)


@pytest.fixture
def loader() -> Loader:
    return Loader()


@pytest.fixture
def shards(tmp_path: Path) -> str:
    """Two shards, and the digest of their package: that of their `sha256sum` listing."""
    listing = ""
    for number in (1, 2):
        path = tmp_path / f"m-0000{number}-of-00002.gguf"
        path.write_bytes(b"GGUF%d" % number)
        listing += f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
    return hashlib.sha256(listing.encode()).hexdigest()


def test_a_split_model_is_checked_against_the_digest_of_its_package(
    tmp_path: Path, shards: str, loader: Loader
) -> None:
    load(Settings(model_dir=tmp_path, model_sha256=shards), loader)

    files, digest = loader.given[0]
    assert files.first.name == "m-00001-of-00002.gguf"
    assert digest == Digest(shards, 10)


def test_one_changed_byte_in_the_second_shard_is_never_loaded(tmp_path: Path, shards: str, loader: Loader) -> None:
    (tmp_path / "m-00002-of-00002.gguf").write_bytes(b"GGUF3")

    with pytest.raises(WrongModel) as refused:
        load(Settings(model_dir=tmp_path, model_sha256=shards), loader)

    assert refused.value.expected == shards
    assert refused.value.found not in (None, shards)
    assert not loader.given


def test_without_an_expected_digest_the_found_one_is_told_to_the_scorer(tmp_path: Path, loader: Loader) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")

    load(Settings(model_dir=tmp_path), loader)

    assert loader.given[0][1] == Digest(hashlib.sha256(b"GGUF").hexdigest(), 4)


def test_a_stop_while_hashing_loads_nothing(tmp_path: Path, loader: Loader) -> None:
    (tmp_path / "m.gguf").write_bytes(b"GGUF")

    with pytest.raises(ModelRefused, match="stopped"):
        load(Settings(model_dir=tmp_path), loader, cancelled=True)

    assert not loader.given
