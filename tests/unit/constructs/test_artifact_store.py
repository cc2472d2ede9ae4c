from __future__ import annotations

import pytest
from aws_cdk import Duration
from aws_cdk.assertions import Match, Template

from decision_endpoints import ArtifactStore, InvalidArguments
from tests.support.synth import ACCOUNT, new_stack, resources


def _policy_has(template: Template, statement: dict[str, object]) -> None:
    template.has_resource_properties(
        "AWS::S3::BucketPolicy",
        {"PolicyDocument": {"Statement": Match.array_with([Match.object_like(statement)])}},
    )


def test_plain_http_is_refused(template: Template) -> None:
    _policy_has(template, {"Effect": "Deny", "Condition": {"Bool": {"aws:SecureTransport": "false"}}})


def test_a_published_model_cannot_be_replaced(template: Template) -> None:
    _policy_has(
        template,
        {
            "Sid": "ModelsAreWrittenOnce",
            "Effect": "Deny",
            "Action": "s3:PutObject",
            "Condition": {"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
        },
    )


def test_only_the_packaging_role_writes_models(template: Template) -> None:
    role = next(name for name in template.find_resources("AWS::IAM::Role") if name.startswith("PackageRole"))
    _policy_has(
        template,
        {
            "Sid": "OnlyPublishersWriteModels",
            "Effect": "Deny",
            "Condition": {"ArnNotEquals": {"aws:PrincipalArn": [{"Fn::GetAtt": [role, "Arn"]}]}},
        },
    )


def test_only_verifiers_write_what_stands_for_a_verification(template: Template) -> None:
    verifiers = f"arn:aws:iam::{ACCOUNT}:role/decision-endpoints/verifier/*"
    _policy_has(
        template,
        {
            "Sid": "OnlyVerifiersWriteRecords",
            "Effect": "Deny",
            "Principal": {"AWS": "*"},
            "Action": ["s3:PutObject", "s3:ReplicateObject"],
            "Condition": {"ArnNotLike": {"aws:PrincipalArn": verifiers}},
        },
    )


def test_every_bucket_is_encrypted_and_closed_to_the_public(template: Template) -> None:
    for bucket in resources(template, "AWS::S3::Bucket"):
        assert bucket["Properties"]["BucketEncryption"]
        assert set(bucket["Properties"]["PublicAccessBlockConfiguration"].values()) == {True}


def test_models_are_versioned_and_reads_are_logged(template: Template) -> None:
    template.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "VersioningConfiguration": {"Status": "Enabled"},
            "LoggingConfiguration": {"DestinationBucketName": Match.any_value()},
        },
    )


def test_no_lifecycle_rule_ever_takes_a_model_that_a_rollback_needs(template: Template) -> None:
    (store,) = [b for b in resources(template, "AWS::S3::Bucket") if "VersioningConfiguration" in b["Properties"]]
    for rule in store["Properties"]["LifecycleConfiguration"]["Rules"]:
        assert set(rule) == {"Status", "NoncurrentVersionExpiration", "AbortIncompleteMultipartUpload"}


def test_models_outlive_the_stack_unless_told_otherwise(template: Template) -> None:
    template.all_resources("AWS::S3::Bucket", {"DeletionPolicy": "Retain", "UpdateReplacePolicy": "Retain"})


def test_a_store_that_is_not_kept_is_emptied_first() -> None:
    stack = new_stack()
    ArtifactStore(stack, "Store", retain=False)

    Template.from_stack(stack).resource_count_is("Custom::S3AutoDeleteObjects", 2)


def test_a_store_for_the_local_cloud_deletes_without_a_function() -> None:
    stack = new_stack()
    ArtifactStore(stack, "Store", retain=False, empty_first=False)

    template = Template.from_stack(stack)
    template.resource_count_is("AWS::Lambda::Function", 0)
    template.all_resources("AWS::S3::Bucket", {"DeletionPolicy": "Delete"})


@pytest.mark.parametrize("hours", [5, 36])
def test_a_retention_that_is_no_whole_number_of_days_is_refused_in_words(hours: int) -> None:
    with pytest.raises(
        InvalidArguments, match=rf"ArtifactStore Stack/Store: superseded_after is {hours} hours: .* give at least"
    ):
        ArtifactStore(new_stack(), "Store", superseded_after=Duration.hours(hours))
