from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Annotations, Match, Template

from decision_endpoints import ArtifactStore, InvalidArguments, LocalGguf, ModelPackage
from decision_provenance.digest import hash_file
from decision_provenance.manifest import PackagedFile
from tests.support.synth import FACTS, new_stack, source

SHARDS = [PackagedFile(f"m-0000{number}-of-00002.gguf", "ab" * 32, 5) for number in (1, 2)]


def _files(folder: Path, *names: str) -> list[PackagedFile]:
    """Files with these names, and their pins."""
    for name in names:
        (folder / name).write_text(f"content of {name}")
    digests = {name: hash_file(folder / name) for name in names}
    return [PackagedFile(name, digest.sha256, digest.bytes) for name, digest in digests.items()]


def _package(model_source: LocalGguf) -> tuple[Template, list[str]]:
    stack = new_stack()
    ModelPackage(stack, "Package", source=model_source, store=ArtifactStore(stack, "Store"))
    errors = Annotations.from_stack(stack).find_error("*", Match.any_value())
    return Template.from_stack(stack), [str(error.entry.data) for error in errors]


def test_a_changed_byte_is_refused_with_the_file_and_both_digests(tmp_path: Path) -> None:
    pin = source(tmp_path)
    pin.path.write_bytes(b"GGUF of a tesT")

    with pytest.raises(InvalidArguments) as refused:
        _package(pin)

    assert str(pin.path) in str(refused.value)
    assert pin.digest in str(refused.value)
    assert hash_file(pin.path).sha256 in str(refused.value)


def test_without_the_file_the_template_is_the_same_and_says_what_to_do(tmp_path: Path) -> None:
    pin = source(tmp_path)
    with_file, no_errors = _package(pin)
    pin.path.unlink()

    without_file, errors = _package(pin)

    assert without_file.to_json() == with_file.to_json()
    assert no_errors == []
    assert [str(pin.path) in error and "make sample-model" in error for error in errors] == [True]


def test_a_pin_may_be_written_in_upper_case(tmp_path: Path) -> None:
    pin = source(tmp_path)

    assert replace(pin, sha256=pin.digest.upper()).digest == pin.digest


def test_everything_wrong_with_a_pin_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments) as refused:
        LocalGguf(path=tmp_path / "model.bin", name="my model", sha256="a" * 63, bytes=5, facts=FACTS)

    assert len(refused.value.complaints) == 3
    assert "63 characters" in str(refused.value)


@pytest.mark.parametrize("name", ["my model.gguf", "model-00001-of-00002.gguf", "mmproj-f16.gguf", "model.GGUF"])
def test_a_file_name_that_the_packaging_would_refuse_is_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        LocalGguf(path=tmp_path / name, name="tiny", sha256="a" * 64, bytes=5, facts=FACTS)

    assert len(refused.value.complaints) == 1
    assert name in str(refused.value)


def test_shards_of_this_machine_are_all_checked_and_uploaded(tmp_path: Path) -> None:
    pins = _files(tmp_path, "m-00001-of-00002.gguf", "m-00002-of-00002.gguf", "tokenizer.json")
    model = LocalGguf(path=tmp_path / pins[0].name, name="tiny", shards=pins[:2], tokenizer_files=pins[2:], facts=FACTS)
    package = ModelPackage(new_stack(), "Package", source=model, store=ArtifactStore(new_stack(), "Store"))

    keys = package.source_location["keys"]
    assert keys == {file.name: f"{file.sha256}{Path(file.name).suffix}" for file in pins}
    (tmp_path / pins[1].name).write_bytes(b"other bytes")
    (tmp_path / pins[2].name).write_bytes(b"other bytes")
    with pytest.raises(InvalidArguments) as refused:
        _package(model)
    assert len(refused.value.complaints) == 2


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sha256": None}, "missing is sha256: give sha256 and bytes of one file, or the list shards"),
        ({"bytes": None}, "missing is bytes: give"),
        ({"shards": SHARDS}, "shards is given and sha256 and bytes as well"),
        ({"shards": SHARDS, "sha256": None, "bytes": None}, "the first of shards m-00001-of-00002.gguf"),
        ({"shards": SHARDS[:1], "sha256": None, "bytes": None, "path": Path(SHARDS[0].name)}, "misses m-00002"),
    ],
)
def test_a_model_of_this_machine_is_one_file_or_all_its_shards(
    tmp_path: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidArguments) as refused:
        replace(source(tmp_path), **changes)

    assert len(refused.value.complaints) == 1
    assert said in str(refused.value)


def test_the_build_may_read_its_source_and_nothing_else_that_was_uploaded(tmp_path: Path) -> None:
    pin = source(tmp_path)
    template, _ = _package(pin)

    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        Match.object_like(
                            {
                                "Action": ["s3:GetObject", "s3:GetObjectVersion"],
                                "Resource": {
                                    "Fn::Join": ["", Match.array_with([Match.string_like_regexp(pin.digest)])]
                                },
                            }
                        )
                    ]
                )
            }
        },
    )
