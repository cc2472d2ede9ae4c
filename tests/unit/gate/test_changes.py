"""What the template diff knows of a change: what is lost, and why."""

from __future__ import annotations

from pathlib import Path

from gate.assembly import read_templates
from gate.changes import Change, Effect, changes
from tests.support.assemblies import Resources, write_assembly

BUCKET = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "models"}, "DeletionPolicy": "Retain"}


def _changes(tmp_path: Path, before: Resources, after: Resources | None) -> list[Change]:
    base = write_assembly(tmp_path / "base", {"dev/Artifacts": before})
    head = write_assembly(tmp_path / "head", {"dev/Artifacts": after} if after is not None else {})
    return changes(read_templates(base), read_templates(head))


def test_the_same_templates_change_nothing(tmp_path: Path) -> None:
    assert _changes(tmp_path, {"Store": BUCKET}, {"Store": BUCKET}) == []


def test_another_value_of_a_create_only_property_replaces_a_bucket(tmp_path: Path) -> None:
    (change,) = _changes(tmp_path, {"Store": BUCKET}, {"Store": BUCKET | {"Properties": {"BucketName": "weights"}}})

    assert (change.declaration, change.loses_state) == ("Replaces: dev-Artifacts/Store", True)
    assert change.why == "BucketName cannot be changed in place"


def test_another_property_changes_a_bucket_in_place(tmp_path: Path) -> None:
    tagged = BUCKET | {"Properties": {"BucketName": "models", "Tags": [{"Key": "team", "Value": "a"}]}}
    (change,) = _changes(tmp_path, {"Store": BUCKET}, {"Store": tagged})

    assert (change.effect, change.why) == (Effect.UPDATED, "Tags")


def test_another_logical_id_is_a_deletion_and_an_addition(tmp_path: Path) -> None:
    found = _changes(tmp_path, {"Store": BUCKET}, {"Bucket": BUCKET})

    assert {(change.logical_id, change.effect) for change in found} == {
        ("Store", Effect.DELETED),
        ("Bucket", Effect.ADDED),
    }


def test_a_stack_that_goes_deletes_what_is_in_it(tmp_path: Path) -> None:
    (change,) = _changes(tmp_path, {"Store": BUCKET}, None)

    assert (change.declaration, change.why) == ("Deletes: dev-Artifacts/Store", "its stack is gone")


def test_what_is_retained_is_said_to_stay_in_the_account(tmp_path: Path) -> None:
    (change,) = _changes(tmp_path, {"Store": BUCKET}, {})

    assert change.policy == "stays in the account, no longer managed"


def test_what_refers_to_a_replaced_resource_by_a_create_only_property_is_replaced_too(tmp_path: Path) -> None:
    policy = {"Type": "AWS::S3::BucketPolicy", "Properties": {"Bucket": {"Ref": "Store"}}}
    renamed = BUCKET | {"Properties": {"BucketName": "weights"}}
    found = _changes(tmp_path, {"Store": BUCKET, "Policy": policy}, {"Store": renamed, "Policy": policy})

    (follower,) = (change for change in found if change.logical_id == "Policy")
    assert (follower.effect, follower.why) == (Effect.REPLACED, "Bucket refers to Store, which is replaced")


def test_a_stateless_resource_may_be_replaced(tmp_path: Path) -> None:
    model = {"Type": "AWS::SageMaker::Model", "Properties": {"ModelName": "one"}}
    (change,) = _changes(tmp_path, {"Model": model}, {"Model": model | {"Properties": {"ModelName": "two"}}})

    assert (change.effect, change.loses_state) == (Effect.REPLACED, False)


def test_a_part_of_a_create_only_property_counts(tmp_path: Path) -> None:
    repository = {
        "Type": "AWS::ECR::Repository",
        "Properties": {"EncryptionConfiguration": {"EncryptionType": "AES256"}},
    }
    other = repository | {"Properties": {"EncryptionConfiguration": {"EncryptionType": "KMS"}}}
    (change,) = _changes(tmp_path, {"Images": repository}, {"Images": other})

    assert change.loses_state


def test_a_log_group_of_another_name_is_another_one(tmp_path: Path) -> None:
    logs = {"Type": "Custom::EndpointLogGroup", "Properties": {"LogGroupName": "/aws/sagemaker/Endpoints/a"}}
    other = logs | {"Properties": {"LogGroupName": "/aws/sagemaker/Endpoints/b"}}
    (change,) = _changes(tmp_path, {"Logs": logs}, {"Logs": other})

    assert change.declaration == "Replaces: dev-Artifacts/Logs"


def test_a_resource_that_would_no_longer_be_kept_is_noticed(tmp_path: Path) -> None:
    (change,) = _changes(tmp_path, {"Store": BUCKET}, {"Store": BUCKET | {"DeletionPolicy": "Delete"}})

    assert change.loosened == "DeletionPolicy was Retain, becomes Delete"
