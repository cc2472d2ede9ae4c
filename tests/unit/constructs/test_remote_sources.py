"""Models of Hugging Face and of buckets: what a pin must say, and what the build may read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from decision_client.packaging.source_setting import read_source
from decision_endpoints import QWEN3_5_4B, HuggingFaceGguf, HuggingFaceTokenizer, InvalidArguments, S3Gguf
from decision_endpoints.fit import context_bytes
from decision_endpoints.sources import ModelSource
from decision_provenance.manifest import PackagedFile, package_digest
from tests.support.synth import FACTS, new_stack

REVISION = "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"
MODEL = PackagedFile("m.gguf", "ab" * 32, 5)
SHARDS = [PackagedFile(f"m-0000{number}-of-00002.gguf", "ab" * 32, 5) for number in (1, 2)]
TOKENIZER = [PackagedFile("tokenizer.json", "cd" * 32, 7), PackagedFile("merges.txt", "ef" * 32, 9)]


def hugging_face(**changes: Any) -> HuggingFaceGguf:
    pin: dict[str, Any] = {
        "repository": "owner/model",
        "revision": REVISION,
        "name": "tiny",
        "files": [MODEL],
        "facts": FACTS,
    }
    return HuggingFaceGguf(**(pin | changes))


def in_bucket(**changes: Any) -> S3Gguf:
    pin: dict[str, Any] = {"bucket": "theirs", "prefix": "in/", "name": "tiny", "files": [MODEL], "facts": FACTS}
    return S3Gguf(**(pin | changes))


def bound(source: ModelSource, stack: Stack) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """What the build is told, and what its role may do."""
    role = iam.Role(stack, "Role", assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
    location = stack.resolve(source.bind(stack, reader=role).location)
    policies = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    return location, [
        statement for policy in policies for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def test_everything_wrong_with_a_pin_of_hugging_face_is_said_at_once() -> None:
    tokenizer = HuggingFaceTokenizer(repository="tokenizer", revision="main", files=[MODEL])

    with pytest.raises(InvalidArguments) as refused:
        hugging_face(
            repository="model",
            revision="main",
            name="my model",
            files=SHARDS[:1],
            folder="/x",
            endpoint="http://your-company.test",
            tokenizer=tokenizer,
        )

    said = "\n".join(refused.value.complaints)
    for what in (
        "repository is 'model'",
        "revision is 'main'",
        "model name 'my model'",
        "misses m-00002-of-00002.gguf",
        "folder is '/x'",
        "endpoint is 'http://your-company.test'",
        "the tokenizer's repository is 'tokenizer'",
        "the tokenizer's revision is 'main'",
    ):
        assert what in said
    assert len(refused.value.complaints) == 9


@pytest.mark.parametrize("make", [hugging_face, in_bucket])
@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([], "no model"),
        (SHARDS[::-1], "in this order: m-00001-of-00002.gguf, m-00002-of-00002.gguf"),
        ([MODEL, replace(MODEL, name="n.gguf")], "2 models"),
        (
            [MODEL, TOKENIZER[0]],
            "tokenizer.json, which llama.cpp does not load: give it with the tokenizer",
        ),
    ],
)
def test_files_that_are_not_exactly_one_model_are_refused(make: Any, files: list[PackagedFile], said: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        make(files=files)

    assert len(refused.value.complaints) == 1
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"bucket": "s3://theirs"}, "bucket is 's3://theirs': give a bucket, or the name of one"),
        ({"prefix": "in"}, "prefix is 'in'"),
        ({"prefix": "/in/"}, "prefix is '/in/'"),
        ({"prefix": "*/"}, "prefix is '*/'"),
        ({"prefix": "${aws:username}/"}, "prefix is '${aws:username}/'"),
    ],
)
def test_a_place_that_would_allow_more_than_the_files_is_refused(changes: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        in_bucket(**changes)

    assert len(refused.value.complaints) == 1
    assert said in str(refused.value)


@pytest.mark.parametrize(
    "source",
    [
        hugging_face(
            tokenizer=HuggingFaceTokenizer(repository="owner/other", revision=REVISION, files=TOKENIZER), files=SHARDS
        ),
        in_bucket(tokenizer_files=TOKENIZER, files=SHARDS),
    ],
)
def test_a_tokenizer_changes_the_package_and_not_the_model(source: ModelSource) -> None:
    assert [file.name for file in source.tokenizer_files] == ["merges.txt", "tokenizer.json"]
    assert source.model_digest == package_digest(SHARDS)
    assert source.digest == package_digest([*SHARDS, *source.tokenizer_files])


def test_a_model_of_hugging_face_needs_no_permission_and_the_build_understands_where_it_is() -> None:
    tokenizer = HuggingFaceTokenizer(repository="owner/other", revision=REVISION, files=TOKENIZER)

    location, statements = bound(hugging_face(tokenizer=tokenizer, endpoint="https://hub.test/"), new_stack())

    assert statements == []
    assert read_source(json.dumps(location)).describe() == {
        "kind": "huggingface",
        "repository": "owner/model",
        "revision": REVISION,
        "tokenizer_repository": "owner/other",
        "tokenizer_revision": REVISION,
    }


def test_the_build_may_read_exactly_the_files_of_a_named_bucket() -> None:
    location, statements = bound(in_bucket(tokenizer_files=TOKENIZER[:1]), new_stack())

    assert location == {"kind": "s3", "bucket": "theirs", "prefix": "in/"}
    assert statements == [
        {
            "Action": ["s3:GetObject", "s3:GetObjectVersion"],
            "Effect": "Allow",
            "Resource": [
                {"Fn::Join": ["", ["arn:", {"Ref": "AWS::Partition"}, f":s3:::theirs/in/{name}"]]}
                for name in ("m.gguf", "tokenizer.json")
            ],
        }
    ]


def test_the_key_of_an_encrypted_bucket_may_be_used_to_read() -> None:
    stack = new_stack()
    key = kms.Key(stack, "Key")
    bucket = s3.Bucket(stack, "Bucket", encryption_key=key)

    _, statements = bound(in_bucket(bucket=bucket), stack)

    assert [statement["Action"] for statement in statements] == [
        ["s3:GetObject", "s3:GetObjectVersion"],
        "kms:Decrypt",
    ]
    assert statements[1]["Resource"] == stack.resolve(key.key_arn)


def test_the_default_model_is_the_sample_of_aws() -> None:
    (file,) = QWEN3_5_4B.files

    assert (QWEN3_5_4B.repository, QWEN3_5_4B.revision) == ("bartowski/Qwen_Qwen3.5-4B-GGUF", REVISION)
    assert (file.name, file.bytes) == ("Qwen_Qwen3.5-4B-Q4_K_M.gguf", 3_013_027_808)
    assert QWEN3_5_4B.digest == "13c16f426047e2de38cd075bdade4a7bcbc8c774384876f677740cda65f8a983"


def test_the_memory_of_the_default_models_context_is_not_underestimated() -> None:
    # Eight layers with 4 key/value heads of 256 as 16-bit floats, 24 with a state of 32 × 128 × 128 32-bit floats.
    needed = 8 * 4 * 256 * 2 * 2 * 4096 + 24 * 32 * 128 * 128 * 4

    assert context_bytes(QWEN3_5_4B.facts, context_tokens=4096, prefixes=0) > needed
