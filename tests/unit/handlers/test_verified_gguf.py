"""A stack goes on only when the stored bytes are the pinned ones; whatever else happens, CloudFormation hears of it."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, Protocol

import pytest

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import Manifest, PackagedFile, package_digest
from tests.support.fake_s3 import FakeS3, client_error
from tests.support.gguf_header import GgufFile, number_pair, text_pair, tiny_pairs

MODEL = GgufFile(pairs=[*tiny_pairs(), text_pair("decision.type", "systemone")]).content()
SHA256 = hashlib.sha256(MODEL).hexdigest()
PREFIX = f"models/tiny/{SHA256}/"
KEY = f"{PREFIX}m.gguf"


class Context(Protocol):
    milliseconds: int

    def get_remaining_time_in_millis(self) -> int: ...


def pinned(name: str, content: bytes) -> PackagedFile:
    return PackagedFile(name, hashlib.sha256(content).hexdigest(), len(content))


def event(*files: PackagedFile, request_type: str = "Create", **changes: Any) -> dict[str, Any]:
    pin = [file.to_json() for file in files or (pinned("m.gguf", MODEL),)]
    return {
        "RequestType": request_type,
        "ResponseURL": "http://127.0.0.1:9/",
        "StackId": "arn:aws:cloudformation:eu-west-1:123456789012:stack/Endpoint/1",
        "RequestId": "request-1",
        "LogicalResourceId": "Verified",
        "ResourceProperties": {"Bucket": "bucket", "Prefix": PREFIX, "Files": json.dumps(pin)},
        **changes,
    }


@pytest.fixture
def s3() -> FakeS3:
    fake = FakeS3()
    fake.put(KEY, MODEL)
    return fake


def answer(module: ModuleType, s3: FakeS3, context: Context, sent: dict[str, Any]) -> dict[str, Any]:
    raw = module.answer_to(sent, context, s3.client)
    assert len(raw) <= 4096
    document: dict[str, Any] = json.loads(raw)
    return document


def reason(module: ModuleType, s3: FakeS3, context: Context, sent: dict[str, Any] | None = None) -> str:
    """Why it failed, which must be a short text, without attributes that something could go on with."""
    document = answer(module, s3, context, sent or event())
    assert document["Status"] == "FAILED"
    assert "Data" not in document
    text: str = document["Reason"]
    assert 0 < len(text) < 1000
    return text


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


@pytest.mark.parametrize("read", [1, 2])
def test_a_newer_version_that_arrives_during_the_run_fails_though_the_older_one_was_read(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, read: int
) -> None:
    opened: list[int] = []

    def replace_at_the_read() -> None:
        opened.append(1)
        if len(opened) == read:
            s3.put(KEY, MODEL[::-1])

    s3.on_open = replace_at_the_read

    assert "changed while it was verified" in reason(verified_gguf, s3, context)


def test_an_object_that_changes_between_two_looks_fails(verified_gguf: ModuleType, context: Context) -> None:
    s3 = FakeS3(versioned=False)
    s3.put(KEY, MODEL)
    s3.on_open = lambda: s3.put(KEY, MODEL[::-1])

    assert "changed while it was read" in reason(verified_gguf, s3, context)


def test_a_header_that_is_swapped_after_the_hash_fails(verified_gguf: ModuleType, context: Context) -> None:
    s3 = FakeS3(versioned=False)
    s3.put(KEY, MODEL)
    opened: list[int] = []

    def swap_before_the_second_read() -> None:
        opened.append(1)
        if len(opened) == 2:
            s3.put(KEY, MODEL[::-1])

    s3.on_open = swap_before_the_second_read

    assert "changed while it was read" in reason(verified_gguf, s3, context)


def test_a_run_that_nears_its_end_fails_and_says_how_far_it_got(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    context.milliseconds = 21_500

    def take_two_seconds() -> None:
        context.milliseconds -= 2_000

    s3.on_read = take_two_seconds

    text = reason(verified_gguf, s3, context)

    assert f"of {len(MODEL)} bytes of s3://bucket/{KEY}: nothing was verified" in text


def test_a_run_without_time_fails_at_once(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    context.milliseconds = 5_000

    assert "nothing was verified" in reason(verified_gguf, s3, context)


def test_a_store_that_never_answers_fails_in_time(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    context.milliseconds = 20_200
    release = threading.Event()

    def hang() -> None:
        release.wait(60)

    s3.on_read = hang

    try:
        assert "did not answer in the time" in reason(verified_gguf, s3, context)
    finally:
        release.set()


def test_nothing_is_parsed_before_its_digest_matched(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(KEY, b"FUGG" + MODEL[4:])

    assert "has SHA-256" in reason(verified_gguf, s3, context)


def test_pinned_bytes_that_are_no_model_fail_with_the_offset(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    content = b"FUGG" + MODEL[4:]
    s3.put(KEY, content)

    assert "GGUF refused at byte 0" in reason(verified_gguf, s3, context, event(pinned("m.gguf", content)))


@pytest.mark.parametrize("extra", ["n.gguf", "mmproj-f16.gguf", "README.md", "deeper/m.gguf"])
def test_a_file_more_than_pinned_fails_with_what_was_seen(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, extra: str
) -> None:
    s3.put(f"{PREFIX}{extra}", b"x")

    text = reason(verified_gguf, s3, context)

    assert extra in text
    assert "the pin lists m.gguf" in text


def test_an_empty_prefix_fails(verified_gguf: ModuleType, context: Context) -> None:
    assert "holds nothing, the pin lists m.gguf" in reason(verified_gguf, FakeS3(), context)


def shards() -> list[tuple[str, bytes]]:
    first = [*tiny_pairs(), number_pair("split.no", 0), number_pair("split.count", 2)]
    second = [number_pair("split.no", 1), number_pair("split.count", 2)]
    return [
        ("m-00001-of-00002.gguf", GgufFile(pairs=first).content()),
        ("m-00002-of-00002.gguf", GgufFile(pairs=second).content()),
    ]


def split_store(contents: list[tuple[str, bytes]]) -> FakeS3:
    s3 = FakeS3()
    for name, content in contents:
        s3.put(f"{PREFIX}{name}", content)
    return s3


def test_a_split_model_passes_as_one(verified_gguf: ModuleType, context: Context) -> None:
    files = [pinned(name, content) for name, content in shards()]

    data = answer(verified_gguf, split_store(shards()), context, event(*files))["Data"]

    assert (data["SplitCount"], data["ParameterCount"]) == ("2", "48")
    assert data["Digest"] == package_digest(files)


def test_shards_that_are_pinned_in_another_order_fail(verified_gguf: ModuleType, context: Context) -> None:
    files = [pinned(name, content) for name, content in reversed(shards())]

    assert "in this order" in reason(verified_gguf, split_store(shards()), context, event(*files))


def test_a_shard_that_is_missing_fails(verified_gguf: ModuleType, context: Context) -> None:
    files = [pinned(name, content) for name, content in shards()]

    assert "holds m-00001" in reason(verified_gguf, split_store(shards()[:1]), context, event(*files))


def test_shards_whose_headers_are_swapped_fail(verified_gguf: ModuleType, context: Context) -> None:
    (one, first), (two, second) = shards()
    swapped = [(one, second), (two, first)]
    files = [pinned(name, content) for name, content in swapped]

    assert "in order" in reason(verified_gguf, split_store(swapped), context, event(*files))


def manifest_of(*files: PackagedFile) -> bytes:
    facts = GgufFacts(version=3, architecture="llama")
    return Manifest("tiny", {"kind": "local"}, files, facts, {}).to_bytes()


def test_a_manifest_that_agrees_with_the_pin_passes(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(f"{PREFIX}model-manifest.json", manifest_of(pinned("m.gguf", MODEL)))

    assert answer(verified_gguf, s3, context, event())["Status"] == "SUCCESS"


def test_a_manifest_of_another_package_fails_with_both_digests(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    other = pinned("m.gguf", b"other")
    s3.put(f"{PREFIX}model-manifest.json", manifest_of(other))

    text = reason(verified_gguf, s3, context)

    assert other.sha256 in text
    assert SHA256 in text


def test_a_manifest_that_is_none_fails(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.put(f"{PREFIX}model-manifest.json", b"{")

    assert "model-manifest.json: a model manifest is not JSON" in reason(verified_gguf, s3, context)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Bucket", None, "property Bucket is None"),
        ("Bucket", "", "property Bucket is ''"),
        ("Prefix", 5, "property Prefix is 5"),
        ("Prefix", "models/tiny", "ending in '/'"),
        ("Files", [], "property Files is []"),
        ("Files", "", "the pin is not JSON"),
    ],
)
def test_a_malformed_property_fails_by_name(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, name: str, value: object, said: str
) -> None:
    sent = event()
    sent["ResourceProperties"][name] = value

    assert said in reason(verified_gguf, s3, context, sent)


def test_a_permission_that_is_missing_fails_by_name(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    s3.refused["HeadObject"] = client_error("HeadObject", 403, "Forbidden")

    assert "s3:GetObject" in reason(verified_gguf, s3, context)


def test_a_failure_nobody_thought_of_is_answered_too(verified_gguf: ModuleType, s3: FakeS3, context: Context) -> None:
    def fail() -> None:
        raise MemoryError

    s3.on_open = fail

    assert reason(verified_gguf, s3, context) == "MemoryError"


@pytest.mark.parametrize("text", ["模", "😀", '"', "\\", "\x1b", "\ud83d"], ids=ascii)
def test_a_reason_of_any_length_and_script_is_cut_to_fit(
    verified_gguf: ModuleType, s3: FakeS3, context: Context, text: str
) -> None:
    def fail() -> None:
        raise RuntimeError("S3 says " + text * 5000)

    s3.on_open = fail

    assert reason(verified_gguf, s3, context).startswith("S3 says ")


def test_deleting_what_never_existed_succeeds_and_keeps_the_id(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    gone = event(request_type="Delete", PhysicalResourceId="verified-gguf/not-created", ResourceProperties={})

    document = answer(verified_gguf, FakeS3(), context, gone)

    assert (document["Status"], document["PhysicalResourceId"]) == ("SUCCESS", "verified-gguf/not-created")


def test_an_update_with_the_same_properties_keeps_the_id(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    created = answer(verified_gguf, s3, context, event())["PhysicalResourceId"]
    update = event(request_type="Update", PhysicalResourceId=created)

    assert answer(verified_gguf, s3, context, update)["PhysicalResourceId"] == created


def test_a_failed_create_that_could_not_be_read_has_an_id_that_can_be_deleted(
    verified_gguf: ModuleType, s3: FakeS3, context: Context
) -> None:
    document = answer(verified_gguf, s3, context, event(ResourceProperties={}))

    assert document["PhysicalResourceId"] == "verified-gguf/not-created"


class CloudFormation(ThreadingHTTPServer):
    """Receives answers; the first `broken` of them get a 500."""

    def __init__(self, broken: int) -> None:
        self.broken = broken
        self.received: list[tuple[str | None, bytes]] = []
        super().__init__(("127.0.0.1", 0), _Receiver)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/answer?Signature=abc"


class _Receiver(BaseHTTPRequestHandler):
    server: CloudFormation

    def do_PUT(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.append((self.headers["Content-Type"], content))
        self.send_response(500 if len(self.server.received) <= self.server.broken else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as inherited
        pass


@pytest.fixture
def cloudformation(request: pytest.FixtureRequest) -> Iterator[CloudFormation]:
    server = CloudFormation(broken=getattr(request, "param", 0))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("cloudformation", [0, 2], indirect=True)
def test_the_answer_reaches_cloudformation_also_at_a_later_attempt(
    verified_gguf: ModuleType,
    s3: FakeS3,
    context: Context,
    cloudformation: CloudFormation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verified_gguf, "_s3", lambda: s3.client)

    verified_gguf.handler(event(ResponseURL=cloudformation.url), context)

    content_type, content = cloudformation.received[-1]
    assert json.loads(content)["Status"] == "SUCCESS"
    assert not content_type, "the signature of the URL covers an empty content type"
    assert len(cloudformation.received) == cloudformation.broken + 1


@pytest.mark.parametrize("cloudformation", [9], indirect=True)
def test_an_answer_that_never_arrives_makes_lambda_run_it_again(
    verified_gguf: ModuleType,
    s3: FakeS3,
    context: Context,
    cloudformation: CloudFormation,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(verified_gguf, "_s3", lambda: s3.client)

    with pytest.raises(OSError, match="500"):
        verified_gguf.handler(event(ResponseURL=cloudformation.url), context)
