from __future__ import annotations

import pytest
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker
from aws_cdk.assertions import Template

from decision_endpoints import DataCapture, InvalidArguments
from tests.support.synth import new_stack, resources


def test_the_role_writes_under_the_prefix_and_nowhere_else(everything: Template) -> None:
    writes = [
        statement
        for policy in resources(everything, "AWS::IAM::Policy")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if statement["Action"] == "s3:PutObject"
    ]

    (write,) = writes
    assert write["Resource"]["Fn::Join"][1][-1] == "/captured/*"


def test_requests_and_answers_are_kept_as_json_under_the_buckets_key(everything: Template) -> None:
    (config,) = resources(everything, "AWS::SageMaker::EndpointConfig")
    capture = config["Properties"]["DataCaptureConfig"]

    assert capture["DestinationS3Uri"]["Fn::Join"][1][-1] == "/captured"
    assert capture["CaptureOptions"] == [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}]
    assert capture["CaptureContentTypeHeader"] == {"JsonContentTypes": ["application/json"]}
    assert "KmsKeyId" in capture


def test_answers_alone_can_be_kept() -> None:
    bucket = s3.Bucket.from_bucket_name(new_stack(), "Bucket", "captured-answers")

    config = DataCapture(bucket=bucket, prefix="a/b", input=False).config

    assert config.capture_options == [sagemaker.CfnEndpointConfig.CaptureOptionProperty(capture_mode="Output")]
    assert config.kms_key_id is None


@pytest.mark.parametrize("prefix", ["", "/captured", "captured/", "a//b", "a b", "a*b/?"])
def test_a_prefix_that_would_name_other_keys_is_refused(prefix: str) -> None:
    bucket = s3.Bucket.from_bucket_name(new_stack(), "Bucket", "captured-answers")

    with pytest.raises(InvalidArguments, match="prefix is"):
        DataCapture(bucket=bucket, prefix=prefix)


def test_all_that_is_wrong_with_a_capture_is_said_in_one_message() -> None:
    bucket = s3.Bucket.from_bucket_name(new_stack(), "Bucket", "captured-answers")

    with pytest.raises(InvalidArguments) as refused:
        DataCapture(bucket=bucket, prefix="/", percentage=101, input=False, output=False)

    found = ["prefix is '/'", "percentage is 101: give 1 to 100", "neither input nor output"]
    assert len(refused.value.complaints) == len(found)
    assert all(part in complaint for part, complaint in zip(found, refused.value.complaints, strict=True))
