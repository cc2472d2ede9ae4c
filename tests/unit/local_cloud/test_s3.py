"""What the packaging job, the verifier and the CDK CLI rely on in S3."""

from __future__ import annotations

import uuid

import pytest
from botocore.exceptions import ClientError

from tests.support.aws_clients import ClientFactory
from tests.support.stacks import Stacks


@pytest.fixture
def bucket(client: ClientFactory) -> str:
    name = f"bucket-{uuid.uuid4().hex[:8]}"
    client("s3").create_bucket(Bucket=name)
    client("s3").put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    return name


def test_a_write_once_key_is_not_overwritten(client: ClientFactory, bucket: str) -> None:
    client("s3").put_object(Bucket=bucket, Key="model", Body=b"first", IfNoneMatch="*")

    with pytest.raises(ClientError, match="PreconditionFailed"):
        client("s3").put_object(Bucket=bucket, Key="model", Body=b"second", IfNoneMatch="*")

    assert client("s3").get_object(Bucket=bucket, Key="model")["Body"].read() == b"first"


def test_a_multipart_upload_cannot_overwrite_a_write_once_key(client: ClientFactory, bucket: str) -> None:
    s3 = client("s3")
    s3.put_object(Bucket=bucket, Key="model", Body=b"first")
    upload = s3.create_multipart_upload(Bucket=bucket, Key="model")["UploadId"]
    part = s3.upload_part(Bucket=bucket, Key="model", UploadId=upload, PartNumber=1, Body=b"second")

    with pytest.raises(ClientError, match="PreconditionFailed"):
        s3.complete_multipart_upload(
            Bucket=bucket,
            Key="model",
            UploadId=upload,
            MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]},
            IfNoneMatch="*",
        )

    assert s3.get_object(Bucket=bucket, Key="model")["Body"].read() == b"first"


def test_a_read_of_what_has_changed_since_is_refused(client: ClientFactory, bucket: str) -> None:
    first = client("s3").put_object(Bucket=bucket, Key="model", Body=b"first")
    client("s3").put_object(Bucket=bucket, Key="model", Body=b"second")

    with pytest.raises(ClientError, match="PreconditionFailed"):
        client("s3").get_object(Bucket=bucket, Key="model", IfMatch=first["ETag"])

    old = client("s3").get_object(Bucket=bucket, Key="model", VersionId=first["VersionId"], IfMatch=first["ETag"])
    assert old["Body"].read() == b"first"


def test_kms_without_a_key_means_the_managed_one(client: ClientFactory, bucket: str) -> None:
    written = client("s3").put_object(Bucket=bucket, Key="asset", Body=b"x", ServerSideEncryption="aws:kms")

    assert written["SSEKMSKeyId"].endswith(":alias/aws/s3")


@pytest.mark.parametrize(("consent", "versions_left"), [("true", 0), ("false", 3)])
def test_the_cdk_empties_a_bucket_of_all_versions_where_its_tag_allows_it(
    stacks: Stacks, client: ClientFactory, bucket: str, consent: str, versions_left: int
) -> None:
    tag = {"Key": "aws-cdk:auto-delete-objects", "Value": consent}
    client("s3").put_bucket_tagging(Bucket=bucket, Tagging={"TagSet": [tag]})
    properties = {"ServiceToken": "not called", "BucketName": bucket}
    stack = stacks.create({"Emptying": {"Type": "Custom::S3AutoDeleteObjects", "Properties": properties}})
    for body in (b"1", b"2"):
        client("s3").put_object(Bucket=bucket, Key="k", Body=body)
    client("s3").delete_object(Bucket=bucket, Key="k")

    stacks.delete(stack)

    found = client("s3").list_object_versions(Bucket=bucket)
    assert len([*found.get("Versions", []), *found.get("DeleteMarkers", [])]) == versions_left
