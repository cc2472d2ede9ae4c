"""A store with a model uploaded by the CDK, and the environment of a build that packages it."""

from __future__ import annotations

import hashlib
import json

import pytest

from tests.support.fake_s3 import FakeS3
from tests.support.gguf_header import GgufFile

MODEL = GgufFile().content()
SHA256 = hashlib.sha256(MODEL).hexdigest()


@pytest.fixture
def s3() -> FakeS3:
    fake = FakeS3()
    fake.put("asset.gguf", MODEL)
    return fake


@pytest.fixture
def environment() -> dict[str, str]:
    return {
        "SOURCE": json.dumps({"kind": "local", "bucket": "assets", "keys": {"m.gguf": "asset.gguf"}}),
        "MODEL_NAME": "tiny",
        "PIN": json.dumps([{"name": "m.gguf", "sha256": SHA256, "bytes": len(MODEL)}]),
        "BUCKET": "bucket",
    }
