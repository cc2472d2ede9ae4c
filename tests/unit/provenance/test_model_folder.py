"""Exactly one model, or a refusal that lists what was seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from decision_provenance.model_folder import ModelFolderRefused, find_model


def folder_with(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    return root


def found(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in find_model(folder).shards]


def test_a_vision_projector_is_not_the_model(tmp_path: Path) -> None:
    assert found(folder_with(tmp_path, "mmproj-f16.gguf", "model.gguf")) == ["model.gguf"]


def test_what_macos_adds_is_not_the_model(tmp_path: Path) -> None:
    assert found(folder_with(tmp_path, "._m.gguf", "m.gguf")) == ["m.gguf"]


def test_shards_come_in_their_order_whatever_the_order_of_the_folder(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, "m-00002-of-00002.gguf", "m-00001-of-00002.gguf")

    assert found(folder) == ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"]
    assert find_model(folder).first.name == "m-00001-of-00002.gguf"


def test_a_model_is_found_however_deep_it_lies(tmp_path: Path) -> None:
    assert found(folder_with(tmp_path, "x/y/z/m.gguf", "x/README.md")) == ["x/y/z/m.gguf"]


def test_a_set_of_one_shard_is_complete(tmp_path: Path) -> None:
    assert found(folder_with(tmp_path, "m-00001-of-00001.gguf")) == ["m-00001-of-00001.gguf"]


def test_a_linked_file_counts_as_the_file(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.touch()
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "m.gguf").symlink_to(blob)

    assert found(folder) == ["m.gguf"]


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["m-00001-of-00003.gguf"], ["misses m-00002-of-00003.gguf, m-00003-of-00003.gguf", "m-00001-of-00003.gguf"]),
        (["a.gguf", "b.gguf"], ["2 models", "a.gguf", "b.gguf"]),
        (["x/m.gguf", "y/m.gguf"], ["2 models", "x/m.gguf", "y/m.gguf"]),
        ([], ["no model", "nothing"]),
        (["mmproj.gguf", "._m.gguf", "model.safetensors"], ["no model", "model.safetensors", "mmproj.gguf"]),
        (["M.GGUF"], ["no model", "M.GGUF"]),
        (["m-00000-of-00002.gguf", "m-00001-of-00002.gguf"], ["misses m-00002", "must not have m-00000"]),
        (["m-00001-of-00002.gguf", "m-00002-of-00003.gguf"], ["2 models", "m-00001-of-00002", "m-00002-of-00003"]),
        (["m-00001-of-00002.gguf", "x/m-00002-of-00002.gguf"], ["2 models"]),
        (["m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "m.gguf"], ["2 models", "m.gguf"]),
        (
            [f"{stem}-0000{n}-of-00002.gguf" for stem in ("model", "model-2") for n in (1, 2)],
            ["2 models", "model-00001-of-00002.gguf", "model-2-00002-of-00002.gguf"],
        ),
    ],
)
def test_anything_but_one_whole_model_is_refused_with_what_was_seen(
    tmp_path: Path, names: list[str], said: list[str]
) -> None:
    with pytest.raises(ModelFolderRefused) as refused:
        find_model(folder_with(tmp_path, *names))

    for part in said:
        assert part in str(refused.value)


def test_a_folder_of_a_thousand_files_is_listed_in_brief(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderRefused, match="and 980 more") as refused:
        find_model(folder_with(tmp_path, *(f"{number}.txt" for number in range(1000))))

    assert len(str(refused.value)) < 1000


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFolderRefused, match="not a directory"):
        find_model(tmp_path / "absent")
