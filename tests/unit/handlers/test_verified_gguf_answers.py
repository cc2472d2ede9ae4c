"""Whatever happens, CloudFormation hears of it, in words, within 4 KB."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType

import pytest

from tests.support.fake_s3 import FakeS3, client_error
from tests.support.verified_gguf import Context, answer, event, reason


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Bucket", None, "property Bucket is None"),
        ("Bucket", "", "property Bucket is ''"),
        ("Prefix", 5, "property Prefix is 5"),
        ("Prefix", "models/tiny", "ending in '/'"),
        ("Files", [], "property Files is []"),
        ("Files", "", "the pin is not JSON"),
        ("Archive", "", "property Archive is ''"),
        ("RecordKey", 5, "property RecordKey is 5"),
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
