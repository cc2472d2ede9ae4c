"""A GGUF that libllama loads in milliseconds: real tokenizer, real attention, weights from a fixed seed.

Its answers mean nothing, its arithmetic is exact enough (F32) to compare two ways of evaluating the same prompt.
"""

from __future__ import annotations

import itertools
import string
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import numpy.typing as npt

CONTROL_TOKENS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")

CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)

# One pair, so that byte pair encoding has something to merge: " A" is a token of its own.
MERGES = (("Ġ", "A"),)

# Every code of two capital letters is a token of its own, as most are in a real vocabulary.
CODE_MERGES = (*MERGES, *itertools.product(string.ascii_uppercase, string.ascii_uppercase))


@dataclass(frozen=True)
class _Shape:
    """Small enough for about 113 KB, large enough for grouped queries: 4 heads share 2 key/value heads."""

    embedding: int = 32
    blocks: int = 2
    heads: int = 4
    heads_kv: int = 2
    feed_forward: int = 64

    @property
    def head(self) -> int:
        return self.embedding // self.heads


def byte_alphabet() -> list[str]:
    """The 256 characters that byte-level BPE writes for the bytes 0–255, in byte order (GPT-2's table)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    characters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + n) for n, byte in enumerate(others)}
    return [characters[byte] for byte in range(256)]


def write_tiny_gguf(
    path: Path,
    *,
    user_defined: Sequence[str] = (),
    chat_template: str | None = CHAT_TEMPLATE,
    merges: Sequence[tuple[str, str]] = MERGES,
    pre_tokenizer: str = "gpt-2",
    context_length: int = 4096,
    name: str = "tiny-test",
    seed: int = 0,
    hybrid: bool = False,
) -> Path:
    """Write the model to `path` and return it. The same arguments give the same bytes.

    Parameters
    ----------
    user_defined:
        Texts of further tokens of kind USER_DEFINED, such as ``</think>``. Default: none.
    chat_template:
        Jinja text of `tokenizer.chat_template`. Default: ChatML. None leaves the key out.
    merges:
        Pairs that byte pair encoding joins, in its byte alphabet. Default: only ``Ġ A``.
    pre_tokenizer:
        llama.cpp's name of the regular expressions that split text into words. Default: GPT-2's.
    context_length:
        Tokens the model claims to be trained on. Default: 4096.
    name:
        `general.name`.
    seed:
        Seed of the weights: two seeds are two models of equal shape.
    hybrid:
        Write an `lfm2` whose first block is a short convolution instead of attention: its memory is recurrent there,
        so that llama.cpp refuses to remove part of a sequence. Default: an ordinary `llama`.
    """
    shape = _Shape()
    writer = gguf.GGUFWriter(path, "lfm2" if hybrid else "llama")
    writer.add_name(name)
    _add_hyperparameters(writer, shape, context_length, hybrid=hybrid)
    vocab_size = _add_vocabulary(writer, user_defined, merges, pre_tokenizer)
    if chat_template is not None:
        writer.add_chat_template(chat_template)
    _add_tensors(writer, shape, vocab_size, np.random.default_rng(seed), hybrid=hybrid)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_hyperparameters(writer: gguf.GGUFWriter, shape: _Shape, context_length: int, *, hybrid: bool) -> None:
    writer.add_context_length(context_length)
    writer.add_embedding_length(shape.embedding)
    writer.add_block_count(shape.blocks)
    writer.add_feed_forward_length(shape.feed_forward)
    writer.add_head_count(shape.heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(10000.0)
    if hybrid:
        writer.add_head_count_kv([0] + [shape.heads_kv] * (shape.blocks - 1))
        writer.add_shortconv_l_cache(3)
    else:
        writer.add_head_count_kv(shape.heads_kv)
        writer.add_rope_dimension_count(shape.head)


def _add_vocabulary(
    writer: gguf.GGUFWriter, user_defined: Sequence[str], merges: Sequence[tuple[str, str]], pre_tokenizer: str
) -> int:
    alphabet = byte_alphabet()
    joined = [left + right for left, right in merges]
    kinds = (
        [gguf.TokenType.NORMAL] * len(alphabet)
        + [gguf.TokenType.CONTROL] * len(CONTROL_TOKENS)
        + [gguf.TokenType.USER_DEFINED] * len(user_defined)
        + [gguf.TokenType.NORMAL] * len(joined)
    )
    tokens = [*alphabet, *CONTROL_TOKENS, *user_defined, *joined]
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(pre_tokenizer)
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{left} {right}" for left, right in merges])
    writer.add_bos_token_id(tokens.index("<|endoftext|>"))
    writer.add_eos_token_id(tokens.index("<|im_end|>"))
    writer.add_add_bos_token(False)
    return len(tokens)


def _add_tensors(
    writer: gguf.GGUFWriter, shape: _Shape, vocab_size: int, random: np.random.Generator, *, hybrid: bool
) -> None:
    def ones(name: str, size: int) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(size, dtype=np.float32))

    def weights(name: str, *rows_and_columns: int) -> None:
        values: npt.NDArray[np.float64] = random.standard_normal(rows_and_columns) / np.sqrt(rows_and_columns[-1])
        writer.add_tensor(f"{name}.weight", values.astype(np.float32))

    width, kv_width = shape.embedding, shape.heads_kv * shape.head
    weights("token_embd", vocab_size, width)
    ones("token_embd_norm" if hybrid else "output_norm", width)
    for block in range(shape.blocks):
        prefix = f"blk.{block}"
        ones(f"{prefix}.attn_norm", width)
        ones(f"{prefix}.ffn_norm", width)
        if hybrid and block == 0:
            weights(f"{prefix}.shortconv.in_proj", 3 * width, width)
            weights(f"{prefix}.shortconv.conv", width, 3)
            weights(f"{prefix}.shortconv.out_proj", width, width)
        else:
            weights(f"{prefix}.attn_q", width, width)
            weights(f"{prefix}.attn_k", kv_width, width)
            weights(f"{prefix}.attn_v", kv_width, width)
            weights(f"{prefix}.attn_output", width, width)
            if hybrid:
                ones(f"{prefix}.attn_q_norm", shape.head)
                ones(f"{prefix}.attn_k_norm", shape.head)
        weights(f"{prefix}.ffn_gate", shape.feed_forward, width)
        weights(f"{prefix}.ffn_up", shape.feed_forward, width)
        weights(f"{prefix}.ffn_down", width, shape.feed_forward)
