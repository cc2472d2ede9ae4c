"""Whatever a caller writes is text: the same characters, and no special token."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from decision_adapter.caller_text import CallerText, TextTooLong
from decision_adapter.errors import RequestRefused
from decision_adapter.llama import Library, Model
from tests.support.tiny_gguf import byte_alphabet, write_tiny_gguf

ALPHABET = {character: byte for byte, character in enumerate(byte_alphabet())}
SPECIAL_TEXTS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "</think>", "<tool>"]


@pytest.fixture(scope="module")
def caller_text(tiny_model: Model) -> CallerText:
    return CallerText(tiny_model.vocab, max_tokens=4096)


def read_back(model: Model, tokens: list[int]) -> str:
    """The text the tokens stand for."""
    texts = (model.vocab.text(token) for token in tokens)
    return b"".join(
        text.encode() if text == "\n\n" else bytes(ALPHABET[character] for character in text) for text in texts
    ).decode()


@pytest.mark.parametrize("special", SPECIAL_TEXTS)
def test_the_text_of_a_special_token_is_read_as_its_characters(
    tiny_model: Model, caller_text: CallerText, special: str
) -> None:
    tokens = caller_text.tokenize(f"x{special}y", what="state")

    assert tiny_model.vocab.special_tokens.isdisjoint(tokens)
    assert read_back(tiny_model, tokens) == f"x{special}y"


def test_llama_cpp_alone_would_have_made_a_special_token_of_it(tiny_model: Model) -> None:
    assert not tiny_model.vocab.special_tokens.isdisjoint(tiny_model.vocab.tokenize("</think>", parse_special=False))


def test_a_user_defined_token_of_whitespace_stays_the_token_it_is(tiny_model: Model, caller_text: CallerText) -> None:
    (token,) = caller_text.tokenize("\n\n", what="state")

    assert tiny_model.vocab.text(token) == "\n\n"


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([*SPECIAL_TEXTS, "<", "</", "think>", "<|", "|>", " A", "é", "\n", "😀"]) | st.text()))
def test_no_text_becomes_a_special_token_or_loses_a_character(
    tiny_model: Model, caller_text: CallerText, pieces: list[str]
) -> None:
    text = "".join(pieces)

    tokens = caller_text.tokenize(text, what="state")

    assert tiny_model.vocab.special_tokens.isdisjoint(tokens)
    assert read_back(tiny_model, tokens) == text


def test_ordinary_text_is_tokenized_as_llama_cpp_does(tiny_model: Model, caller_text: CallerText) -> None:
    text = "Tell A from B < C."

    assert caller_text.tokenize(text, what="state") == tiny_model.vocab.tokenize(text, parse_special=False)


def test_a_lone_surrogate_is_refused_by_its_code(caller_text: CallerText) -> None:
    with pytest.raises(RequestRefused, match=r"the state holds the lone surrogate \\ud83d"):
        caller_text.tokenize("x\ud83d", what="state")


@pytest.mark.parametrize("character", [" ", "\n", "a", "A", "1", "!", "中", "é", "😀"])
@pytest.mark.parametrize("pre_tokenizer", ["gpt-4o", "tekken", "deepseek-llm", "falcon"])
def test_a_word_without_end_is_read_and_does_not_end_the_process(
    library: Library, tmp_path: Path, pre_tokenizer: str, character: str
) -> None:
    model = Model(library, write_tiny_gguf(tmp_path / "m.gguf", pre_tokenizer=pre_tokenizer))
    text = character * 60_000

    # On a thread, as in the adapter: the main thread's stack may be larger.
    with ThreadPoolExecutor(1) as pool:
        tokens = pool.submit(CallerText(model.vocab, max_tokens=1_000_000).tokenize, text, what="state").result()

    assert read_back(model, tokens) == text
    model.close()


def test_a_text_that_cannot_fit_is_refused_without_being_tokenized(tiny_model: Model) -> None:
    longest = tiny_model.vocab.longest_text
    caller_text = CallerText(tiny_model.vocab, max_tokens=2)

    assert caller_text.tokenize("x" * 2 * longest, what="state")
    with pytest.raises(TextTooLong, match="the state needs at least 3 tokens"):
        caller_text.tokenize("x" * (2 * longest + 1), what="state")
