from __future__ import annotations

import asyncio
import gzip
import time
import tracemalloc
from collections.abc import Callable, Iterable

import pytest
from starlette.requests import ClientDisconnect, Request

from decision_adapter.body import read_body
from decision_adapter.coding import LIMIT_BYTES, BodyRefused
from tests.support.zstd import zstd

JSON = {"content-type": "application/json"}


def read(
    chunks: Iterable[bytes] = (b"{}",),
    headers: dict[str, str] = JSON,
    *,
    then: str = "end",
    timeout_seconds: float = 20.0,
) -> bytes:
    """Read a body that arrives in these chunks, and then ends, or is followed by silence or by the client's going."""
    pending = list(chunks)

    async def receive() -> dict[str, object]:
        if pending:
            body = pending.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(pending) or then != "end"}
        if then == "silence":
            await asyncio.Event().wait()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    return asyncio.run(read_body(Request(scope, receive), timeout_seconds=timeout_seconds))


def refused(status: int, *args: object, **kwargs: object) -> str:
    with pytest.raises(BodyRefused) as refusal:
        read(*args, **kwargs)  # type: ignore[arg-type]
    assert refusal.value.status_code == status
    return refusal.value.detail


@pytest.mark.parametrize(
    "content_type", ["application/json", "Application/JSON; charset=UTF-8", 'application/json;charset="utf-8"']
)
def test_json_is_taken(content_type: str) -> None:
    assert read(headers={"content-type": content_type}) == b"{}"


@pytest.mark.parametrize("content_type", ["text/plain", "application/jsonl", "application/json; charset=latin-1", ""])
def test_another_content_type_is_a_415(content_type: str) -> None:
    assert "application/json" in refused(415, headers={"content-type": content_type})


def test_no_content_type_is_a_415() -> None:
    assert "missing" in refused(415, headers={})


def test_a_body_in_chunks_is_put_together() -> None:
    assert read([b'{"a', b'": ', b"1}"]) == b'{"a": 1}'


def test_a_body_of_exactly_the_limit_is_taken_and_a_byte_more_is_a_413() -> None:
    half = b"x" * (LIMIT_BYTES // 2)

    assert len(read([half, half])) == LIMIT_BYTES
    assert str(LIMIT_BYTES) in refused(413, [half, half, b"x"])


@pytest.mark.parametrize("length", [str(LIMIT_BYTES + 1), "9" * 5000])
def test_a_body_that_is_announced_too_large_is_refused_before_it_is_read(length: str) -> None:
    refused(413, [], JSON | {"content-length": length}, then="silence")


def test_a_body_that_does_not_arrive_is_a_408() -> None:
    assert "within 0.05 s" in refused(408, [b"{"], then="silence", timeout_seconds=0.05)


def test_a_client_that_goes_away_is_no_request() -> None:
    with pytest.raises(ClientDisconnect):
        read([b"{"], then="gone")


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "x-gzip"])
def test_gzip_is_decoded(coding: str) -> None:
    assert read([gzip.compress(b'{"a": 1}')], JSON | {"content-encoding": coding}) == b'{"a": 1}'


@pytest.mark.parametrize("level", [-5, 3, 19])
def test_zstd_is_decoded(level: int) -> None:
    body = b'{"a": "%s"}' % (b"many words " * 100_000)

    assert read([zstd.compress(body, level)], JSON | {"content-encoding": "zstd"}) == body


def test_a_zstd_stream_that_does_not_tell_its_length_is_decoded() -> None:
    stream = zstd.ZstdCompressor(level=19)
    packed = stream.compress(b'{"a"') + stream.compress(b": 1}") + stream.flush()

    assert read([packed], JSON | {"content-encoding": "ZSTD"}) == b'{"a": 1}'


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip, gzip", "gzip, zstd", "nonsense"])
def test_another_coding_is_a_415_that_names_those_there_are(coding: str) -> None:
    assert "send gzip, zstd" in refused(415, headers=JSON | {"content-encoding": coding})


COMPRESS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}


@pytest.mark.parametrize("coding", COMPRESS)
@pytest.mark.parametrize(
    "spoil",
    [lambda packed: b"{}", lambda packed: packed[:-1], lambda packed: packed + b"{}", lambda packed: packed[:6]],
    ids=["plain", "a byte short", "more behind it", "only its head"],
)
def test_bytes_that_are_not_what_their_coding_says_are_a_400(coding: str, spoil: Callable[[bytes], bytes]) -> None:
    body = spoil(COMPRESS[coding](b"{}"))

    assert coding in refused(400, [body], JSON | {"content-encoding": coding})


@pytest.mark.parametrize("coding", COMPRESS)
def test_a_small_body_that_unpacks_to_gigabytes_costs_neither_memory_nor_time(coding: str) -> None:
    bomb = (
        gzip.compress(b"\0" * 200_000_000, compresslevel=1) if coding == "gzip" else zstd.compress(b"\0" * 200_000_000)
    )
    tracemalloc.start()
    began = time.process_time()  # how busy the machine is does not count

    assert "decoded body" in refused(413, [bomb], JSON | {"content-encoding": coding})

    assert time.process_time() - began < 2
    assert tracemalloc.get_traced_memory()[1] < 5 * LIMIT_BYTES
    tracemalloc.stop()


def test_a_zstd_window_over_what_a_body_may_have_is_refused_before_it_is_given_memory() -> None:
    wide: dict[int, int] = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.content_size_flag: 0}
    stream = zstd.ZstdCompressor(options=wide)
    packed = stream.compress(b"{}") + stream.flush()

    assert "window" in refused(400, [packed], JSON | {"content-encoding": "zstd"})


@pytest.mark.parametrize("coding", COMPRESS)
def test_many_members_do_not_take_quadratic_time(coding: str) -> None:
    began = time.process_time()  # how busy the machine is does not count

    assert f"send one {coding}" in refused(400, [COMPRESS[coding](b"") * 100_000], JSON | {"content-encoding": coding})

    assert time.process_time() - began < 2
