"""The adapter's image: what is built stays apart from what builds it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import pytest
from aws_cdk import Environment, Stack
from aws_cdk.assertions import Match, Template

from decision_endpoints import AdapterImage, BuiltImage, DlcImage, InvalidArguments
from decision_endpoints.assets import adapter_image_folder, folder_sha256
from tests.support.synth import DLC_IMAGE, new_app, new_stack, resources

OTHER_BASE = DlcImage("cpu", digest=f"sha256:{'2e08b331' * 8}")


def two_stacks(base: DlcImage, *, rebuild: str = "") -> tuple[Template, Template]:
    """What lasts, and what runs the build."""
    app = new_app()
    lasting, serving = new_stack("Lasting", app=app), new_stack("Serving", app=app)
    BuiltImage(serving, "Built", image=AdapterImage(lasting, "Image", base=base), rebuild=rebuild)
    return Template.from_stack(lasting), Template.from_stack(serving)


@pytest.fixture(scope="module")
def stacks() -> tuple[Template, Template]:
    return two_stacks(DLC_IMAGE)


@pytest.fixture(scope="module")
def lasting(stacks: tuple[Template, Template]) -> Template:
    return stacks[0]


@pytest.fixture(scope="module")
def serving(stacks: tuple[Template, Template]) -> Template:
    return stacks[1]


def test_tags_cannot_be_moved_and_each_image_is_scanned(lasting: Template) -> None:
    lasting.has_resource_properties(
        "AWS::ECR::Repository",
        {"ImageTagMutability": "IMMUTABLE", "ImageScanningConfiguration": {"ScanOnPush": True}},
    )


def test_images_outlive_the_stack_unless_they_need_not() -> None:
    stack = new_stack()
    AdapterImage(stack, "Kept", base=DLC_IMAGE)
    AdapterImage(stack, "Dropped", base=DLC_IMAGE, retain=False)

    found = resources(Template.from_stack(stack), "AWS::ECR::Repository")

    assert [(each["DeletionPolicy"], each["Properties"]["EmptyOnDelete"]) for each in found] == [
        ("Retain", False),
        ("Delete", True),
    ]


def test_the_build_may_pull_the_base_push_here_and_nothing_else_in_ecr(lasting: Template) -> None:
    (policy,) = resources(lasting, "AWS::IAM::Policy")
    granted = {
        _where(statement["Resource"]): sorted(_listed(statement["Action"]))
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if str(statement["Action"]).find("ecr:") >= 0
    }

    pull = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    push = ["ecr:CompleteLayerUpload", "ecr:InitiateLayerUpload", "ecr:PutImage", "ecr:UploadLayerPart"]
    assert granted == {
        "*": ["ecr:GetAuthorizationToken"],
        "base": pull,
        "own": sorted([*pull, *push, "ecr:DescribeImages"]),
    }


def _where(resource: Any) -> str:
    if resource == "*":
        return "*"
    return (
        "own" if "Fn::GetAtt" in resource else "base" if "763104351884:repository/llama-cpp" in str(resource) else "?"
    )


def _listed(actions: str | list[str]) -> list[str]:
    return [actions] if isinstance(actions, str) else actions


@pytest.mark.parametrize(
    ("target", "kind", "platform"),
    [
        ("cpu", "LINUX_CONTAINER", "linux/amd64"),
        ("graviton", "ARM_CONTAINER", "linux/arm64"),
    ],
)
def test_an_image_is_built_on_the_processor_it_is_for(
    target: Literal["cpu", "cuda", "graviton"], kind: str, platform: str
) -> None:
    stack = new_stack()
    AdapterImage(stack, "Image", base=DlcImage(target, digest=DLC_IMAGE.digest))

    Template.from_stack(stack).has_resource_properties(
        "AWS::CodeBuild::Project",
        {
            "Environment": {
                "Type": kind,
                "PrivilegedMode": True,
                "EnvironmentVariables": Match.array_with([Match.object_like({"Name": "PLATFORM", "Value": platform})]),
            }
        },
    )


def test_a_build_ends_within_the_time_that_a_deploy_waits(lasting: Template) -> None:
    (project,) = resources(lasting, "AWS::CodeBuild::Project")

    assert project["Properties"]["TimeoutInMinutes"] + project["Properties"]["QueuedTimeoutInMinutes"] <= 50


def test_the_build_is_given_the_base_by_digest_and_the_tag(serving: Template) -> None:
    (run,) = resources(serving, "Custom::BuildRun")

    tag = run["Properties"]["ResultTag"]
    assert (
        f'"BASE_IMAGE":"763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@{DLC_IMAGE.digest}"'
        in (run["Properties"]["Environment"])
    )
    assert f'"TAG":"{tag}"' in run["Properties"]["Environment"]


def test_the_build_is_told_the_source_that_its_tag_is_made_of(serving: Template) -> None:
    (run,) = resources(serving, "Custom::BuildRun")

    with adapter_image_folder() as folder:
        assert json.loads(run["Properties"]["Environment"])["SOURCE_SHA256"] == folder_sha256(folder)


def test_another_base_or_a_rebuild_changes_nothing_of_what_lasts(lasting: Template) -> None:
    changed, _ = two_stacks(OTHER_BASE, rebuild="2026-12")

    assert changed.to_json() == lasting.to_json()


def test_between_the_stacks_only_names_pass(lasting: Template) -> None:
    values = [str(output["Value"]) for output in lasting.to_json()["Outputs"].values()]

    assert values
    assert not [value for value in values if "sha256" in value or ("Ref" not in value and "Fn::GetAtt" not in value)]


def tag_of(stack: Stack, base: DlcImage = DLC_IMAGE, *, rebuild: str = "") -> str:
    return AdapterImage(stack, "Image", base=base).tag(rebuild)


def test_the_same_inputs_have_the_same_tag_wherever_they_are() -> None:
    elsewhere = Stack(new_app(), "Elsewhere", env=Environment(account="210987654321", region="eu-west-1"))
    other = AdapterImage(elsewhere, "Other", base=DLC_IMAGE, retain=False)

    assert other.tag("") == tag_of(new_stack())


@pytest.mark.parametrize(
    ("base", "rebuild"),
    [
        (OTHER_BASE, ""),
        (DlcImage("cuda", digest=DLC_IMAGE.digest), ""),
        (DLC_IMAGE, "2026-12"),
    ],
    ids=["base", "target", "rebuild"],
)
def test_the_tag_changes_with(base: DlcImage, rebuild: str) -> None:
    assert tag_of(new_stack("One"), base, rebuild=rebuild) != tag_of(new_stack("Two"))


def test_the_tag_changes_with_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = tag_of(new_stack("Before"))

    with adapter_image_folder() as folder:
        (folder / "decision_adapter" / "server.py").write_text("# changed\n")

        @contextmanager
        def changed() -> Iterator[Path]:
            yield folder

        monkeypatch.setattr("decision_endpoints.adapter_image.adapter_image_folder", changed)
        after = tag_of(new_stack("After"))

    assert after != before


def test_an_endpoint_gets_the_image_by_the_digest_that_the_build_answered() -> None:
    stack = new_stack()
    built = BuiltImage(stack, "Built", image=AdapterImage(stack, "Image", base=DLC_IMAGE))

    bound = built.bind(stack)

    assert stack.resolve(bound.uri)["Fn::Join"][1][-1] == {
        "Fn::GetAtt": [stack.get_logical_id(built.run.resource.node.default_child), "Digest"]  # type: ignore[arg-type]
    }
    assert bound.architecture == "x86_64"


def test_a_base_without_a_registry_in_the_region_is_refused_when_the_image_is_made() -> None:
    stack = Stack(new_app(), "Anywhere")

    with pytest.raises(InvalidArguments, match="give the stack an env with a region, or give registry_account"):
        AdapterImage(stack, "Image", base=DLC_IMAGE)
