"""Writes GGUF headers by hand, right ones and wrong ones: every field can be given the bytes that a test needs."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

UINT32, INT32, FLOAT32, BOOL, STRING, ARRAY, UINT64 = 4, 5, 6, 7, 8, 9, 10
F32, Q4_1 = 0, 3


def u32(number: int) -> bytes:
    """Four bytes, little-endian."""
    return struct.pack("<I", number)


def u64(number: int) -> bytes:
    """Eight bytes, little-endian."""
    return struct.pack("<Q", number)


def string(text: str | bytes) -> bytes:
    """A string with its length before it."""
    raw = text.encode() if isinstance(text, str) else text
    return u64(len(raw)) + raw


def pair(key: str | bytes, kind: int, value: bytes) -> bytes:
    """One metadata pair whose value is given as bytes."""
    return string(key) + u32(kind) + value


def text_pair(key: str, text: str) -> bytes:
    """A pair with a string."""
    return pair(key, STRING, string(text))


def number_pair(key: str, number: int) -> bytes:
    """A pair with an unsigned 32-bit integer."""
    return pair(key, UINT32, u32(number))


def array_pair(key: str, element: int, length: int, content: bytes) -> bytes:
    """A pair with an array."""
    return pair(key, ARRAY, u32(element) + u64(length) + content)


def tensor(name: str, shape: Sequence[int], offset: int, *, kind: int = F32, dimensions: int | None = None) -> bytes:
    """One tensor info."""
    sizes = b"".join(u64(size) for size in shape)
    return string(name) + u32(len(shape) if dimensions is None else dimensions) + sizes + u32(kind) + u64(offset)


def tiny_pairs() -> list[bytes]:
    """The metadata of a small llama with two tokens and a chat template."""
    return [
        text_pair("general.architecture", "llama"),
        text_pair("general.name", "Tiny"),
        number_pair("general.file_type", 0),
        number_pair("llama.block_count", 2),
        number_pair("llama.context_length", 128),
        number_pair("llama.embedding_length", 8),
        number_pair("llama.attention.head_count", 4),
        number_pair("llama.attention.head_count_kv", 2),
        array_pair("tokenizer.ggml.tokens", STRING, 2, string("a") + string("b")),
        text_pair("tokenizer.chat_template", "{{ messages }}"),
    ]


@dataclass
class GgufFile:
    """A whole GGUF file; what is not given is that of a small, sound llama with two tensors."""

    pairs: list[bytes] = field(default_factory=tiny_pairs)
    tensors: list[bytes] = field(default_factory=lambda: [tensor("a", (8, 2), 0), tensor("b", (8,), 64)])
    data: bytes = bytes(96)
    magic: bytes = b"GGUF"
    version: bytes = u32(3)
    tensor_count: int | None = None
    metadata_count: int | None = None
    alignment: int = 32

    def header(self) -> bytes:
        """What precedes the tensor data, its padding included."""
        tensor_count = len(self.tensors) if self.tensor_count is None else self.tensor_count
        metadata_count = len(self.pairs) if self.metadata_count is None else self.metadata_count
        content = b"".join(
            (self.magic, self.version, u64(tensor_count), u64(metadata_count), *self.pairs, *self.tensors)
        )
        return content + bytes(-len(content) % self.alignment)

    def content(self) -> bytes:
        """The whole file."""
        return self.header() + self.data
