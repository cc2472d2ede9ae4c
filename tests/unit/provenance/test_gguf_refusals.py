"""Bytes that nobody has vouched for are refused soon, in little memory, saying where, what, and what is allowed."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision_provenance.gguf import GgufFacts, GgufRefused, read_facts
from tests.support.bounds import peak_bytes, within_seconds
from tests.support.gguf_header import (
    ARRAY,
    BOOL,
    FLOAT32,
    STRING,
    UINT32,
    UINT64,
    GgufFile,
    array_pair,
    number_pair,
    pair,
    string,
    tensor,
    text_pair,
    tiny_pairs,
    u32,
    u64,
)

SECONDS = 10.0
"""The promise is one; a busy machine may take longer, and what this guards against takes minutes."""

MEMORY_BYTES = 64 << 20


def read(content: bytes, file_bytes: int | None = None) -> GgufFacts:
    return read_facts(io.BytesIO(content), file_bytes=len(content) if file_bytes is None else file_bytes)


def refusal(content: bytes) -> str:
    """The text of the refusal, which came in time and in the memory allowed."""

    def attempt() -> str:
        with pytest.raises(GgufRefused) as refused:
            read(content)
        return str(refused.value)

    text = within_seconds(SECONDS, attempt)
    assert re.match(r"GGUF refused at byte \d+: found .+; allowed is .+", text, re.DOTALL), text
    assert len(text) < 1000
    return text


def with_pair(extra: bytes) -> GgufFile:
    return GgufFile(pairs=[*tiny_pairs(), extra])


def test_another_magic_is_refused() -> None:
    assert refusal(GgufFile(magic=b"FUGG").content()).startswith("GGUF refused at byte 0: found the magic b'FUGG'")


@pytest.mark.parametrize("version", [0, 1, 4, 2**32 - 1])
def test_another_version_is_refused(version: int) -> None:
    assert f"at byte 4: found version {version}" in refusal(GgufFile(version=u32(version)).content())


def test_a_big_endian_file_is_called_one() -> None:
    assert "big-endian" in refusal(GgufFile(version=b"\0\0\0\3").content())


@pytest.mark.parametrize("count", [2**63, 2**64 - 1, 2**32, 4097])
def test_a_metadata_count_beyond_reason_is_refused(count: int) -> None:
    assert f"at byte 16: found metadata count {count}" in refusal(GgufFile(metadata_count=count).content())


@pytest.mark.parametrize("count", [2**63, 2**64 - 1, 16385])
def test_a_tensor_count_beyond_reason_is_refused(count: int) -> None:
    assert f"at byte 8: found tensor count {count}" in refusal(GgufFile(tensor_count=count).content())


@pytest.mark.parametrize("length", [2**48, 2**63, 2**64 - 1, 1025])
def test_a_key_longer_than_the_file_or_the_limit_is_refused(length: int) -> None:
    file = GgufFile(pairs=[u64(length) + b"x" * 2000], metadata_count=1)

    assert f"at byte 24: found metadata key 0 of {length} bytes" in refusal(file.content())


@pytest.mark.parametrize("element", [UINT32, STRING, BOOL])
@pytest.mark.parametrize("length", [2**63, 2**61, 2**64 - 1])
def test_an_array_longer_than_the_file_is_refused(element: int, length: int) -> None:
    assert f"with {length} elements" in refusal(with_pair(array_pair("x", element, length, b"")).content())


def test_an_array_of_arrays_is_refused() -> None:
    assert "of arrays" in refusal(with_pair(array_pair("x", ARRAY, 1, u32(ARRAY) + u64(0))).content())


@pytest.mark.parametrize("kind", [13, 255, 2**32 - 1])
def test_an_unknown_value_type_is_refused(kind: int) -> None:
    assert f"type {kind}" in refusal(with_pair(pair("x", kind, bytes(8))).content())
    assert f"type {kind}" in refusal(with_pair(array_pair("x", kind, 1, bytes(8))).content())


@pytest.mark.parametrize("alignment", [0, 1, 3, 4, 48, 2**31])
def test_an_alignment_that_is_no_usable_power_of_two_is_refused(alignment: int) -> None:
    assert f"general.alignment {alignment}" in refusal(with_pair(number_pair("general.alignment", alignment)).content())


@pytest.mark.parametrize(("kind", "value"), [(UINT64, u64(32)), (STRING, string("32")), (FLOAT32, bytes(4))])
def test_an_alignment_of_another_type_is_refused(kind: int, value: bytes) -> None:
    assert "allowed is UINT32" in refusal(with_pair(pair("general.alignment", kind, value)).content())


@pytest.mark.parametrize("dimensions", [0, 5, 2**32 - 1])
def test_a_tensor_has_one_to_four_dimensions(dimensions: int) -> None:
    file = GgufFile(tensors=[tensor("a", (8, 1, 1, 1, 1), 0, dimensions=dimensions)])

    assert f"{dimensions} dimensions of tensor 'a'" in refusal(file.content())


@pytest.mark.parametrize("shape", [(0,), (8, 0), (2**63,), (2**32, 2**32), (2**62, 2, 2, 2), (2**64 - 1,)])
def test_a_shape_with_a_zero_or_a_product_that_overflows_is_refused(shape: tuple[int, ...]) -> None:
    assert "product is at most" in refusal(GgufFile(tensors=[tensor("a", shape, 0)]).content())


def test_an_empty_key_is_refused() -> None:
    assert "an empty metadata key" in refusal(with_pair(number_pair("", 1)).content())


def test_a_key_that_comes_twice_is_refused() -> None:
    assert "'general.architecture' a second time" in refusal(
        with_pair(text_pair("general.architecture", "qwen3")).content()
    )


def test_a_key_that_is_not_utf_8_is_refused_at_the_byte() -> None:
    file = GgufFile(pairs=[pair(b"ab\xff", UINT32, u32(1))])

    assert "at byte 34: found byte 0xff" in refusal(file.content())


def test_a_tensor_name_that_comes_twice_is_refused() -> None:
    file = GgufFile(tensors=[tensor("a", (8,), 0), tensor("a", (8,), 32)])

    assert "'a' a second time" in refusal(file.content())


def test_a_tensor_name_longer_than_ggml_keeps_is_refused() -> None:
    assert "the name of tensor 0 of 64 bytes" in refusal(GgufFile(tensors=[tensor("a" * 64, (8,), 0)]).content())


@pytest.mark.parametrize("kind", [4, 31, 36, 43, 2**32 - 1])
def test_a_tensor_type_that_llama_cpp_does_not_load_is_refused(kind: int) -> None:
    assert f"type {kind} of tensor 'a'" in refusal(GgufFile(tensors=[tensor("a", (8,), 0, kind=kind)]).content())


def test_rows_that_are_no_whole_blocks_are_refused() -> None:
    assert "multiple of its block of 32" in refusal(GgufFile(tensors=[tensor("a", (8,), 0, kind=3)]).content())


@pytest.mark.parametrize("offset", [1, 32, 2**63, 2**64 - 32])
def test_tensors_that_overlap_or_leave_a_gap_are_refused(offset: int) -> None:
    file = GgufFile(tensors=[tensor("a", (8, 2), 0), tensor("b", (8,), offset)])

    assert f"offset {offset} of tensor 'b'" in refusal(file.content())


def test_a_last_tensor_past_the_end_of_the_file_is_refused() -> None:
    assert "is it cut off?" in refusal(GgufFile(data=bytes(95)).content())


def test_a_header_cut_at_any_byte_is_refused() -> None:
    content = GgufFile(pairs=tiny_pairs()[:3]).content()
    assert len(content) > 200

    for end in range(len(content)):
        assert "GGUF refused at byte" in refusal(content[:end])


def test_a_stream_that_ends_before_the_length_it_is_said_to_have_is_refused() -> None:
    content = GgufFile().content()

    with pytest.raises(GgufRefused, match="the end of the bytes"):
        read(content[:100], file_bytes=len(content))


@pytest.mark.parametrize(
    "wrong",
    [
        pair("general.architecture", UINT32, u32(1)),
        array_pair("general.architecture", STRING, 1, string("llama")),
        text_pair("general.architecture", ""),
        text_pair("general.architecture", "a\nb"),
        text_pair("general.architecture", "x" * 65),
        pair("general.architecture", STRING, string(b"\xff")),
    ],
)
def test_an_architecture_that_is_no_short_word_is_refused(wrong: bytes) -> None:
    refusal(GgufFile(pairs=[wrong]).content())


def test_a_model_without_an_architecture_is_refused() -> None:
    assert "no general.architecture" in refusal(GgufFile(pairs=[]).content())


@pytest.mark.parametrize(
    ("key", "kind", "value"),
    [
        ("decision.type", ARRAY, u32(STRING) + u64(1) + string("systemone")),
        ("decision.type", UINT32, u32(1)),
        ("llama.vocab_size", STRING, string("5")),
        ("general.file_type", FLOAT32, bytes(4)),
        ("split.count", ARRAY, u32(UINT32) + u64(1) + u32(2)),
        ("llama.vocab_size", 5, u32(2**32 - 1)),
    ],
)
def test_a_known_key_with_a_value_of_another_kind_is_refused(key: str, kind: int, value: bytes) -> None:
    pairs = [text_pair("general.architecture", "llama"), pair(key, kind, value)]

    assert key in refusal(GgufFile(pairs=pairs).content())


def test_a_shard_number_beyond_the_number_of_shards_is_refused() -> None:
    pairs = [text_pair("general.architecture", "llama"), number_pair("split.no", 1)]

    assert "shard number 1 of a model in 1 files" in refusal(GgufFile(pairs=pairs).content())


def test_tokens_that_are_no_strings_are_refused() -> None:
    pairs = [text_pair("general.architecture", "llama"), array_pair("tokenizer.ggml.tokens", UINT32, 1, u32(1))]

    assert "ARRAY of STRING" in refusal(GgufFile(pairs=pairs).content())


def as_many_strings_as_allowed() -> GgufFile:
    count = (3 << 19) - 8
    return with_pair(array_pair("x", STRING, count, bytes(8 * count)))


def more_strings_than_allowed() -> GgufFile:
    return with_pair(array_pair("x", STRING, 4 << 20, bytes(32 << 20)))


def a_long_string() -> GgufFile:
    return with_pair(text_pair("x", "y" * (40 << 20)))


def a_long_chat_template() -> GgufFile:
    return with_pair(text_pair("tokenizer.chat_template", "y" * (2 << 20)))


def many_long_keys() -> GgufFile:
    return GgufFile(pairs=[number_pair(f"{number:04d}{'k' * 1000}", 1) for number in range(4096)])


def many_layers() -> GgufFile:
    return GgufFile(
        pairs=[array_pair(f"{number}.attention.head_count", 0, 1024, bytes(1024)) for number in range(4096)]
    )


def many_tensors() -> GgufFile:
    return GgufFile(tensors=[tensor(f"{number:063d}", (1,), 32 * number) for number in range(16384)], data=b"")


@pytest.mark.parametrize(
    "expensive",
    [
        as_many_strings_as_allowed,
        more_strings_than_allowed,
        a_long_string,
        a_long_chat_template,
        many_long_keys,
        many_layers,
        many_tensors,
    ],
)
def test_a_file_as_large_as_it_claims_costs_little(expensive: Callable[[], GgufFile]) -> None:
    content = expensive().content()

    def attempt() -> None:
        with contextlib.suppress(GgufRefused):
            read(content)

    within_seconds(SECONDS, attempt)
    # Tracing every allocation is slow, and of strings that are passed over a part shows what all would take.
    if expensive is not as_many_strings_as_allowed:
        assert peak_bytes(attempt) < MEMORY_BYTES


def test_strings_that_are_passed_over_are_not_kept() -> None:
    content = with_pair(array_pair("x", STRING, 100_000, bytes(800_000))).content()

    assert peak_bytes(lambda: read(content)) < 4 << 20


def test_a_sparse_file_of_zeros_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "zeros.gguf"
    with path.open("wb") as file:
        file.truncate(10 << 30)

    def attempt() -> None:
        with path.open("rb") as stream, pytest.raises(GgufRefused, match="magic"):
            read_facts(stream, file_bytes=10 << 30)

    within_seconds(SECONDS, attempt)


SOUND = GgufFile().content()


@settings(deadline=None, max_examples=300)
@given(
    changes=st.lists(
        st.tuples(st.integers(0, len(SOUND) - 1), st.binary(min_size=1, max_size=8)), min_size=1, max_size=4
    ),
    cut=st.integers(0, len(SOUND)),
)
def test_a_mutated_header_is_read_or_refused_and_nothing_else(changes: list[tuple[int, bytes]], cut: int) -> None:
    content = bytearray(SOUND)
    for position, replacement in changes:
        content[position : position + len(replacement)] = replacement

    for mutated in (bytes(content), bytes(content[:cut])):
        with contextlib.suppress(GgufRefused):
            read(mutated)


@settings(deadline=None, max_examples=100)
@given(content=st.binary(max_size=400))
def test_any_bytes_after_the_magic_are_read_or_refused_and_nothing_else(content: bytes) -> None:
    with pytest.raises(GgufRefused):
        read(b"GGUF" + u32(3) + content)
