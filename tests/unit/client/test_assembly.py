"""The cloud assembly is read as the CDK CLI reads it, or said to be unreadable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from decision_client.assembly import AssemblyUnreadable, Bootstrap, NoSuchEnvironment, read_assembly, select
from tests.support.cloud_assembly import endpoint, stacks_of, write_assembly


def test_the_stacks_of_a_stage_are_found_in_its_own_assembly(tmp_path: Path) -> None:
    (stack,) = stacks_of(tmp_path, endpoint("ml.c6i.xlarge"))

    assert (stack.path, stack.name, stack.account, stack.region) == (
        "dev/Endpoint",
        "dev-Endpoint",
        "123456789012",
        "us-east-1",
    )
    assert stack.bootstrap == Bootstrap("/cdk-bootstrap/hnb659fds/version", 6)


def test_a_stack_without_a_place_of_its_own_says_so(tmp_path: Path) -> None:
    (stack,) = stacks_of(tmp_path, {}, environment="aws://unknown-account/unknown-region")

    assert (stack.account, stack.region) == (None, None)


def test_the_resources_of_nested_stacks_belong_to_the_stack(tmp_path: Path) -> None:
    nested = {"Type": "AWS::CloudFormation::Stack", "Metadata": {"aws:asset:path": "inner.nested.template.json"}}
    folder = write_assembly(tmp_path, {"Nested": nested})
    inner = {"Resources": {"Model": {"Type": "AWS::SageMaker::Model"}}}
    (folder / "assembly-dev" / "inner.nested.template.json").write_text(json.dumps(inner))

    (stack,) = read_assembly(folder)

    assert [resource.logical_id for resource in stack.of_type("AWS::SageMaker::Model")] == ["Model"]


@pytest.mark.parametrize("environment", ["dev", "dev/Endpoint", "dev/*", "*"])
def test_an_environment_is_a_stage_a_stack_or_a_pattern(tmp_path: Path, environment: str) -> None:
    assert len(select(stacks_of(tmp_path, {}), environment)) == 1


def test_an_unknown_environment_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(NoSuchEnvironment, match="did you mean dev"):
        select(stacks_of(tmp_path, {}), "dve")


@pytest.mark.parametrize(
    ("content", "what"),
    [(None, "is not there"), ("{", "cannot be read"), ("[]", "no cloud assembly"), ("{}", "no cloud")],
)
def test_a_folder_that_is_no_assembly_says_what_to_do(tmp_path: Path, content: str | None, what: str) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)

    with pytest.raises(AssemblyUnreadable, match=f"{what}.*cdk synth"):
        read_assembly(tmp_path)


@pytest.mark.parametrize(
    ("file", "document"),
    [
        ("manifest.json", {"artifacts": {"Endpoint": "a text"}}),
        ("manifest.json", {"artifacts": {"Endpoint": {"type": "aws:cloudformation:stack"}}}),
        ("Endpoint.template.json", {"Resources": {"Model": []}}),
        ("Endpoint.template.json", {"Resources": {"Model": {"Type": "AWS::SageMaker::Model", "Properties": "none"}}}),
        ("Endpoint.assets.json", {"files": {"code": {"source": {"path": True}}}}),
    ],
)
def test_a_damaged_assembly_is_said_to_be_one(tmp_path: Path, file: str, document: object) -> None:
    folder = write_assembly(tmp_path, {})
    (folder / "assembly-dev" / file).write_text(json.dumps(document))

    with pytest.raises(AssemblyUnreadable, match="write it anew with `cdk synth`"):
        read_assembly(folder)
