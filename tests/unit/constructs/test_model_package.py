from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from aws_cdk import Duration
from aws_cdk import aws_codebuild as codebuild
from aws_cdk.assertions import Match, Template

from decision_client.packaging.s3_source import LocalSource
from decision_client.packaging.settings import read_settings
from decision_client.packaging.source_setting import read_source
from decision_endpoints import (
    QWEN3_5_4B,
    ArtifactStore,
    HuggingFaceTokenizer,
    InvalidArguments,
    ModelPackage,
    PackagedModel,
)
from decision_endpoints.build_disk import compute_type
from decision_provenance.manifest import PackagedFile
from tests.support.synth import endpoint, new_app, new_stack, resources, source


@pytest.fixture
def build_run(template: Template) -> dict[str, str]:
    (resource,) = resources(template, "Custom::BuildRun")
    properties: dict[str, str] = resource["Properties"]
    return properties


def test_the_build_is_told_the_pin_and_where_the_source_is(build_run: dict[str, str]) -> None:
    environment = json.loads(build_run["Environment"])

    (pinned,) = json.loads(environment["PIN"])
    location = read_source(environment["SOURCE"])
    assert environment["MODEL_NAME"] == "tiny"
    assert set(pinned) == {"name", "sha256", "bytes"}
    assert isinstance(location, LocalSource)
    assert location.keys == {pinned["name"]: f"{pinned['sha256']}.gguf"}


def test_the_finished_result_is_a_manifest_under_the_digest(build_run: dict[str, str]) -> None:
    (pinned,) = json.loads(json.loads(build_run["Environment"])["PIN"])

    assert build_run["ResultKey"] == f"models/tiny/{pinned['sha256']}/model-manifest.json"


def test_the_bytes_are_verified_after_the_build_and_against_the_same_pin(
    template: Template, build_run: dict[str, str]
) -> None:
    (verified,) = resources(template, "Custom::VerifiedGguf")
    (build_name,) = template.find_resources("Custom::BuildRun")

    assert build_name in verified["DependsOn"]
    assert json.loads(verified["Properties"]["Files"]) == json.loads(json.loads(build_run["Environment"])["PIN"])
    assert build_run["ResultKey"].startswith(verified["Properties"]["Prefix"])


def test_a_custom_resource_waits_for_its_functions_permissions(template: Template) -> None:
    policies = set(template.find_resources("AWS::IAM::Policy"))
    for kind in ("Custom::BuildRun", "Custom::VerifiedGguf"):
        (resource,) = resources(template, kind)
        assert policies & set(resource["DependsOn"])


def test_the_build_ends_before_the_deploy_stops_waiting(template: Template) -> None:
    template.has_resource_properties("AWS::CodeBuild::Project", {"QueuedTimeoutInMinutes": 5, "TimeoutInMinutes": 45})
    template.has_resource_properties(
        "AWS::StepFunctions::StateMachine",
        # 200 looks, 15 seconds apart, each of a second or two: within CloudFormation's hour.
        {"DefinitionString": {"Fn::Join": ["", Match.array_with([Match.string_like_regexp("15,.*MaxAttempts.*200")])]}},
    )


def test_the_functions_may_start_this_project_and_no_other(template: Template) -> None:
    (project,) = template.find_resources("AWS::CodeBuild::Project")
    template.has_resource_properties(
        "AWS::IAM::Policy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        {
                            "Action": ["codebuild:BatchGetBuilds", "codebuild:StartBuild"],
                            "Effect": "Allow",
                            "Resource": {"Fn::GetAtt": [project, "Arn"]},
                        }
                    ]
                )
            }
        },
    )


def test_our_functions_log_to_their_own_group_for_a_limited_time(template: Template) -> None:
    groups = template.find_resources("AWS::Logs::LogGroup")
    for function in resources(template, "AWS::Lambda::Function"):
        group = groups[function["Properties"]["LoggingConfig"]["LogGroup"]["Ref"]]
        assert group["Properties"]["RetentionInDays"] <= 90


def test_two_models_in_a_stack_share_the_functions(tmp_path: Path) -> None:
    stack = new_stack()
    store = ArtifactStore(stack, "Store")
    for name in ("first", "second"):
        package = ModelPackage(stack, f"Package-{name}", source=source(tmp_path, name=name), store=store)
        PackagedModel(stack, f"Model-{name}", package=package)

    template = Template.from_stack(stack)
    template.resource_count_is("Custom::BuildRun", 2)
    # Two handlers of the build, three of the Provider, one verifier.
    template.resource_count_is("AWS::Lambda::Function", 6)


def test_a_digest_never_crosses_from_one_stack_to_another(tmp_path: Path) -> None:
    app = new_app()
    lasting = new_stack("Lasting", app=app)
    pin = source(tmp_path)
    package = ModelPackage(lasting, "Package", source=pin, store=ArtifactStore(lasting, "Store"))
    PackagedModel(new_stack("Replaceable", app=app), "Model", package=package)

    exported = json.dumps(Template.from_stack(lasting).to_json()["Outputs"])
    assert "Export" in exported
    assert pin.digest not in exported


def test_another_model_changes_no_policy_that_a_rollback_needs_at_once(template: Template, tmp_path: Path) -> None:
    stack = new_stack()
    endpoint(stack, source(tmp_path, content=b"other bytes"))
    after = Template.from_stack(stack).find_resources("AWS::IAM::Policy")

    before = template.find_resources("AWS::IAM::Policy")
    assert {name.partition("Policy")[0] for name in before if before[name] != after[name]} == {"PackageRoleDefault"}


def test_builds_of_a_stack_are_all_looked_at_as_often(tmp_path: Path) -> None:
    stack = new_stack()
    package = ModelPackage(stack, "Package", source=source(tmp_path), store=ArtifactStore(stack, "Store"))
    PackagedModel(stack, "Model", package=package)

    with pytest.raises(InvalidArguments, match="query_interval is 30 s, and 15 s for another BuildRun"):
        PackagedModel(stack, "Again", package=package, query_interval=Duration.seconds(30))


def test_an_impatient_build_run_is_refused(tmp_path: Path) -> None:
    stack = new_stack()
    package = ModelPackage(stack, "Package", source=source(tmp_path), store=ArtifactStore(stack, "Store"))

    with pytest.raises(InvalidArguments, match="query_interval is 10 ms: give at least"):
        PackagedModel(stack, "Model", package=package, query_interval=Duration.millis(10))


@pytest.fixture(scope="module")
def archived() -> Template:
    """A model of Hugging Face with its tokenizer, in one archive."""
    stack = new_stack()
    tokenizer = HuggingFaceTokenizer(
        repository="Qwen/Qwen3.5-4B", revision=QWEN3_5_4B.revision, files=[PackagedFile("tokenizer.json", "ab" * 32, 5)]
    )
    package = ModelPackage(
        stack,
        "Package",
        source=replace(QWEN3_5_4B, tokenizer=tokenizer),
        store=ArtifactStore(stack, "Store"),
        archive=True,
    )
    PackagedModel(stack, "Model", package=package)
    return Template.from_stack(stack)


def test_an_archive_is_built_looked_for_and_verified_under_a_prefix_of_its_own(archived: Template) -> None:
    (build,) = resources(archived, "Custom::BuildRun")
    (verified,) = resources(archived, "Custom::VerifiedGguf")
    settings = read_settings({**json.loads(build["Properties"]["Environment"]), "BUCKET": "bucket"})

    assert settings.archive
    assert build["Properties"]["ResultKey"] == f"{settings.prefix}model-manifest.json"
    assert verified["Properties"]["Prefix"] == settings.prefix
    assert verified["Properties"]["Archive"] == "model.tar.gz"


def test_the_tokenizer_is_built_and_verified_with_the_model(archived: Template) -> None:
    (build,) = resources(archived, "Custom::BuildRun")
    (verified,) = resources(archived, "Custom::VerifiedGguf")
    pin = json.loads(build["Properties"]["Environment"])["PIN"]

    assert [file["name"] for file in json.loads(pin)] == ["Qwen_Qwen3.5-4B-Q4_K_M.gguf", "tokenizer.json"]
    assert json.loads(verified["Properties"]["Files"]) == json.loads(pin)


@pytest.mark.parametrize(
    ("gigabytes", "archive", "chosen"),
    [(48, False, "SMALL"), (48, True, "MEDIUM"), (49, False, "MEDIUM"), (70, True, "X_LARGE"), (240, False, "X_LARGE")],
)
def test_a_build_has_the_disk_for_the_files_and_for_an_archive_of_them(
    gigabytes: int, archive: bool, chosen: str
) -> None:
    files = [PackagedFile("m.gguf", "ab" * 32, gigabytes * 10**9)]

    assert compute_type(files, archive=archive, what="ModelPackage") is codebuild.ComputeType[chosen]


def test_a_model_that_no_build_has_the_disk_for_is_refused() -> None:
    files = [PackagedFile("m.gguf", "ab" * 32, 130 * 10**9)]

    with pytest.raises(InvalidArguments, match="packaging takes 260 GB of disk, a build has 240: give a smaller"):
        compute_type(files, archive=True, what="ModelPackage")
