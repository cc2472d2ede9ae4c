"""The custom resources are told what to look for, and may do that and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from decision_endpoints import ArtifactStore, BuildRun, ImageResult, InvalidArguments, VerifiedGguf
from decision_provenance.manifest import PackagedFile
from tests.support.synth import new_app, new_stack, resources

DIGEST = "13c16f42" * 8
PREFIX = f"models/tiny/{DIGEST}/"
FILES = [PackagedFile(name="tiny.gguf", sha256=DIGEST, bytes=113_000)]


def image_run(stack: Stack, tag: str) -> BuildRun:
    spec = codebuild.BuildSpec.from_object({"version": "0.2"})
    return BuildRun(
        stack,
        "Run",
        project=codebuild.Project(stack, "Project", build_spec=spec),
        log_group=logs.LogGroup(stack, "Logs"),
        result=ImageResult(ecr.Repository(stack, "Images"), tag),
        inputs=DIGEST,
    )


@pytest.fixture(scope="module")
def template() -> Template:
    """An image build, and models in a store of another stack and in a plain bucket."""
    app = new_app()
    lasting = new_stack("Lasting", app=app)
    store = ArtifactStore(lasting, "Store", encryption_key=kms.Key(lasting, "Key"))
    stack = new_stack(app=app)
    image_run(stack, "cpu-1")
    VerifiedGguf(stack, "Kept", store=store, prefix=PREFIX, files=FILES)
    VerifiedGguf(stack, "Again", store=store, prefix=f"models/tiny/{DIGEST}-tar/", files=FILES, archive="model.tar.gz")
    VerifiedGguf(stack, "Plain", store=s3.Bucket(stack, "Bucket"), prefix=PREFIX, files=FILES)
    return Template.from_stack(stack)


def statements(template: Template, policy: str) -> list[dict[str, Any]]:
    (found,) = [
        resource
        for name, resource in template.find_resources("AWS::IAM::Policy").items()
        if name.startswith(policy) and "DefaultPolicy" in name
    ]
    document: list[dict[str, Any]] = found["Properties"]["PolicyDocument"]["Statement"]
    return document


def verified(template: Template, name: str) -> dict[str, Any]:
    (properties,) = [
        resource["Properties"]
        for logical_id, resource in template.find_resources("Custom::VerifiedGguf").items()
        if logical_id.startswith(name)
    ]
    return dict(properties)


def test_an_image_build_is_told_the_repository_and_the_tag(template: Template) -> None:
    (run,) = resources(template, "Custom::BuildRun")
    (repository,) = template.find_resources("AWS::ECR::Repository")

    assert run["Properties"]["ResultRepository"] == {"Ref": repository}
    assert run["Properties"]["ResultTag"] == "cpu-1"


def test_an_image_build_may_describe_this_repository_and_no_bucket(template: Template) -> None:
    (repository,) = template.find_resources("AWS::ECR::Repository")

    for function in ("BuildRunFunctionsOnEvent", "BuildRunFunctionsIsComplete"):
        allowed = statements(template, function)
        assert [s["Resource"] for s in allowed if s["Action"] == "ecr:DescribeImages"] == [
            {"Fn::GetAtt": [repository, "Arn"]}
        ]
        assert "s3:" not in json.dumps(allowed)


def test_another_tag_changes_no_policy_that_a_rollback_needs_at_once(template: Template) -> None:
    stack = new_stack()
    image_run(stack, "cpu-2")
    after = Template.from_stack(stack)

    for function in ("BuildRunFunctionsOnEvent", "BuildRunFunctionsIsComplete"):
        assert statements(after, function) == statements(template, function)


def test_a_model_in_a_store_leaves_a_record_beside_the_models(template: Template) -> None:
    assert verified(template, "Kept")["RecordKey"] == f"verified/tiny/{DIGEST}.json"


def test_an_archive_has_a_record_of_its_own(template: Template) -> None:
    again = verified(template, "Again")

    assert (again["Archive"], again["RecordKey"]) == ("model.tar.gz", f"verified/tiny/{DIGEST}-tar.json")


def test_a_model_in_a_bucket_that_anyone_may_write_to_leaves_none(template: Template) -> None:
    assert "RecordKey" not in verified(template, "Plain")


def test_the_verifier_writes_records_and_nothing_else(template: Template) -> None:
    writing = [s for s in statements(template, "VerifiedGgufFunction") if "s3:Put" in json.dumps(s["Action"])]

    (records,) = writing
    assert records["Action"] == ["s3:GetObject", "s3:PutObject"]
    assert records["Resource"]["Fn::Join"][1][-1] == "/verified/*"


def test_the_verifier_may_use_the_key_that_its_records_are_encrypted_with(template: Template) -> None:
    actions = {action for s in statements(template, "VerifiedGgufFunction") for action in s["Action"]}

    assert {"kms:Decrypt", "kms:GenerateDataKey*"} <= actions


def test_the_verifier_has_the_path_that_the_store_lets_in(template: Template) -> None:
    paths = [role["Properties"].get("Path") for role in resources(template, "AWS::IAM::Role")]

    assert paths.count("/decision-endpoints/verifier/") == 1


def test_a_prefix_or_an_archive_with_another_ending_is_refused_in_one_message() -> None:
    stack = new_stack()
    bucket = s3.Bucket(stack, "Bucket")

    with pytest.raises(InvalidArguments, match=r"prefix is 'models/tiny'.*; archive is 'x/model\.tar'"):
        VerifiedGguf(stack, "Verified", store=bucket, prefix="models/tiny", files=FILES, archive="x/model.tar")


@pytest.mark.parametrize("tag", ["", "cpu:1", "-cpu", "x" * 129])
def test_a_tag_that_ecr_would_not_take_is_refused(tag: str) -> None:
    with pytest.raises(InvalidArguments, match="ImageResult: tag is "):
        ImageResult(ecr.Repository.from_repository_name(new_stack(), "Images", "images"), tag)
