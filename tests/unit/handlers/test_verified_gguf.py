"""A stack goes on only when the stored bytes are the pinned ones."""

from __future__ import annotations

import hashlib
from types import ModuleType

from tests.support.fake_s3 import FakeS3
from tests.support.verified_gguf import KEY, MODEL, PREFIX, SHA256, Context, answer, event, pinned, reason


def test_the_pinned_bytes_pass_and_say_what_model_they_are(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    document = answer(verified_gguf, s3, context, event())

    assert document == {
        "Status": "SUCCESS",
        "PhysicalResourceId": f"verified-gguf/{SHA256[:16]}",
        "StackId": event()["StackId"],
        "RequestId": "request-1",
        "LogicalResourceId": "Verified",
        "Data": {
            "S3Uri": f"s3://bucket/{PREFIX}",
            "Digest": SHA256,
            "Bytes": str(len(MODEL)),
            "Architecture": "llama",
            "ContextLength": "128",
            "BlockCount": "2",
            "VocabSize": "2",
            "FileType": "0",
            "ParameterCount": "24",
            "SplitCount": "1",
            "ChatTemplateSha256": hashlib.sha256(b"{{ messages }}").hexdigest(),
            "DecisionType": "systemone",
        },
    }


def test_a_flipped_byte_fails_with_the_key_and_both_digests(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    flipped = MODEL[:-1] + bytes([MODEL[-1] ^ 1])
    s3.put(KEY, flipped)

    text = reason(verified_gguf, s3, context)

    found = hashlib.sha256(flipped).hexdigest()
    assert text.startswith(f"s3://bucket/{KEY} has SHA-256 {found}, the pin says {SHA256}: ")


def test_a_checksum_that_s3_reports_is_never_taken_for_the_digest(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    s3.put(KEY, MODEL[:-1] + b"\1")
    s3.head_extras = {"ChecksumSHA256": SHA256, "ChecksumType": "COMPOSITE", "Metadata": {"sha256": SHA256}}

    assert "the pin says" in reason(verified_gguf, s3, context)


def test_a_pin_in_upper_case_passes(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    sent = event()
    sent["ResourceProperties"]["Files"] = sent["ResourceProperties"]["Files"].replace(SHA256, SHA256.upper())

    assert answer(verified_gguf, s3, context, sent)["Data"]["Digest"] == SHA256


def test_a_pin_of_63_digits_fails(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    sent = event()
    sent["ResourceProperties"]["Files"] = sent["ResourceProperties"]["Files"].replace(SHA256, SHA256[:63])

    assert "63 characters" in reason(verified_gguf, s3, context, sent)


def test_another_length_fails_before_anything_is_read(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(KEY, MODEL + b"\0")

    assert f"has {len(MODEL) + 1} bytes, the pin says {len(MODEL)}" in reason(verified_gguf, s3, context)
    assert s3.named("GetObject") == []


def test_a_read_that_ends_early_fails(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.lost_bytes = 1

    assert "ended after" in reason(verified_gguf, s3, context)


def test_nothing_is_parsed_before_its_digest_matched(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(KEY, b"FUGG" + MODEL[4:])

    assert "has SHA-256" in reason(verified_gguf, s3, context)


def test_pinned_bytes_that_are_no_model_fail_with_the_offset(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    content = b"FUGG" + MODEL[4:]
    s3.put(KEY, content)

    assert "GGUF refused at byte 0" in reason(verified_gguf, s3, context, event(pinned("m.gguf", content)))
