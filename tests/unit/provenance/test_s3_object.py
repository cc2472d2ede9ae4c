"""The bytes that are hashed are those of one version of an object, all of them."""

from __future__ import annotations

import pytest

from decision_provenance.digest import hash_chunks
from decision_provenance.gguf import read_facts
from decision_provenance.s3_object import ObjectRefused, ObjectStream, PinnedObject, pin_object, read_chunks, read_small
from tests.support.fake_s3 import FakeS3, client_error
from tests.support.gguf_header import GgufFile

CONTENT = bytes(range(256)) * 10_000


@pytest.fixture(params=[True, False], ids=["versioned", "unversioned"])
def s3(request: pytest.FixtureRequest) -> FakeS3:
    fake = FakeS3(versioned=request.param)
    fake.put("m.gguf", CONTENT)
    return fake


def pinned(s3: FakeS3) -> PinnedObject:
    found = pin_object(s3.client, "bucket", "m.gguf")
    assert found is not None
    return found


def test_all_bytes_are_read_in_chunks_of_a_mebibyte(s3: FakeS3) -> None:
    chunks = list(read_chunks(s3.client, pinned(s3)))

    assert b"".join(chunks) == CONTENT
    assert {len(chunk) for chunk in chunks[:-1]} == {1 << 20}


def test_every_read_asks_for_the_version_that_was_looked_at(s3: FakeS3) -> None:
    hash_chunks(read_chunks(s3.client, pinned(s3)))

    (arguments,) = s3.named("GetObject")
    assert arguments["IfMatch"] == pinned(s3).etag
    assert ("VersionId" in arguments) == s3.versioned


def test_an_object_that_is_not_there_is_none(s3: FakeS3) -> None:
    assert pin_object(s3.client, "bucket", "absent") is None


def test_an_object_that_changes_after_it_was_looked_at_is_refused() -> None:
    s3 = FakeS3(versioned=False)
    s3.put("m.gguf", CONTENT)
    found = pinned(s3)
    s3.put("m.gguf", CONTENT[::-1])

    with pytest.raises(ObjectRefused, match=r"s3://bucket/m\.gguf changed while it was read"):
        list(read_chunks(s3.client, found))


def test_a_new_version_does_not_change_the_bytes_of_the_one_that_is_read() -> None:
    s3 = FakeS3(versioned=True)
    s3.put("m.gguf", CONTENT)
    found = pinned(s3)
    s3.put("m.gguf", CONTENT[::-1])

    assert b"".join(read_chunks(s3.client, found)) == CONTENT


def test_an_object_that_is_deleted_before_it_is_read_is_refused(s3: FakeS3) -> None:
    found = pinned(s3)
    del s3.versions["m.gguf"]

    with pytest.raises(ObjectRefused, match="changed while it was read"):
        list(read_chunks(s3.client, found))


def test_a_read_that_ends_early_is_refused_with_both_lengths(s3: FakeS3) -> None:
    s3.lost_bytes = 1

    with pytest.raises(ObjectRefused, match=f"ended after {len(CONTENT) - 1} of its {len(CONTENT)} bytes"):
        list(read_chunks(s3.client, pinned(s3)))


def test_a_connection_that_breaks_is_refused_with_how_far_it_got(s3: FakeS3) -> None:
    reads = iter([None, ConnectionResetError("reset by peer")])

    def break_at_the_second_read() -> None:
        error = next(reads)
        if error is not None:
            raise error

    s3.on_read = break_at_the_second_read

    with pytest.raises(ObjectRefused, match="after 1048576 of its 2560000 bytes"):
        list(read_chunks(s3.client, pinned(s3)))


def test_a_missing_permission_is_named(s3: FakeS3) -> None:
    s3.refused["HeadObject"] = client_error("HeadObject", 403, "AccessDenied")

    with pytest.raises(ObjectRefused, match="s3:GetObjectVersion on it, s3:ListBucket on its bucket, kms:Decrypt"):
        pinned(s3)


def test_an_error_of_the_service_is_passed_on_with_its_code(s3: FakeS3) -> None:
    found = pinned(s3)
    s3.refused["GetObject"] = client_error("GetObject", 503, "SlowDown")

    with pytest.raises(ObjectRefused, match=r"could not be read \(SlowDown"):
        list(read_chunks(s3.client, found))


def test_a_small_object_is_read_whole(s3: FakeS3) -> None:
    assert read_small(s3.client, "bucket", "m.gguf", limit=len(CONTENT)) == CONTENT
    assert read_small(s3.client, "bucket", "absent", limit=5) is None


def test_a_small_object_that_is_not_small_or_not_whole_is_refused(s3: FakeS3) -> None:
    with pytest.raises(ObjectRefused, match="at most 100 are read"):
        read_small(s3.client, "bucket", "m.gguf", limit=100)
    s3.lost_bytes = 1
    with pytest.raises(ObjectRefused, match="ended after"):
        read_small(s3.client, "bucket", "m.gguf", limit=len(CONTENT))


def test_a_header_is_read_from_an_object_without_reading_its_tensors() -> None:
    s3 = FakeS3()
    content = GgufFile().content()
    s3.put("m.gguf", content)

    with ObjectStream(s3.client, pinned(s3)) as stream:
        assert read_facts(stream, file_bytes=len(content)).architecture == "llama"
