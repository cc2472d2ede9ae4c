"""What CloudFormation asks the verifier, a model to verify, and how its answers are read."""

from __future__ import annotations

import hashlib
import json
from types import ModuleType
from typing import Any, Protocol

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import Manifest, PackagedFile
from tests.support.fake_s3 import FakeS3
from tests.support.gguf_header import GgufFile, number_pair, text_pair, tiny_pairs

MODEL = GgufFile(pairs=[*tiny_pairs(), text_pair("decision.type", "systemone")]).content()
SHA256 = hashlib.sha256(MODEL).hexdigest()
PREFIX = f"models/tiny/{SHA256}/"
KEY = f"{PREFIX}m.gguf"


class Context(Protocol):
    """Lambda's context, as the fixture of that name gives it."""

    milliseconds: int

    def get_remaining_time_in_millis(self) -> int: ...


def pinned(name: str, content: bytes) -> PackagedFile:
    """The pin of a file with this content."""
    return PackagedFile(name, hashlib.sha256(content).hexdigest(), len(content))


def event(*files: PackagedFile, request_type: str = "Create", **changes: Any) -> dict[str, Any]:
    """What CloudFormation sends about these files, the tiny model if there are none."""
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


def answer(module: ModuleType, s3: FakeS3, context: Context, sent: dict[str, Any]) -> dict[str, Any]:
    """The answer to one request."""
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


def shards() -> list[tuple[str, bytes]]:
    """A model in two files, by name."""
    first = [*tiny_pairs(), number_pair("split.no", 0), number_pair("split.count", 2)]
    second = [number_pair("split.no", 1), number_pair("split.count", 2)]
    return [
        ("m-00001-of-00002.gguf", GgufFile(pairs=first).content()),
        ("m-00002-of-00002.gguf", GgufFile(pairs=second).content()),
    ]


def manifest_of(*files: PackagedFile) -> bytes:
    """The manifest of a package of these files."""
    facts = GgufFacts(version=3, architecture="llama")
    return Manifest("tiny", {"kind": "local"}, files, facts, {}).to_bytes()
