"""The structure of a GGUF header: metadata and tensor infos, whatever they mean.

It is written for files that nobody has vouched for. Counts and lengths are bounded by the file and by generous limits,
arrays are passed over instead of built, and whatever llama.cpp would refuse to load is refused here with its offset.

Source: ggml `docs/gguf.md`, llama.cpp `ggml/src/gguf.cpp`.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from decision_provenance.gguf_cursor import Cursor, GgufRefused
from decision_provenance.gguf_types import INTEGER_FORMATS, SCALAR_BYTES, TENSOR_TYPES, ValueType

VERSIONS = (2, 3)
METADATA_LIMIT = 4096
TENSOR_LIMIT = 16384
KEY_LIMIT_BYTES = 1024
TENSOR_NAME_LIMIT_BYTES = 63
"""`GGML_MAX_NAME` is 64, its closing zero included."""

DIMENSION_LIMIT = 4
DEFAULT_ALIGNMENT = 32
ALIGNMENTS = tuple(1 << power for power in range(3, 21))
ELEMENT_LIMIT = (1 << 63) - 1

KEPT_TEXT_BYTES = {
    "general.architecture": 64,
    "general.name": 4096,
    "decision.type": 64,
    "tokenizer.chat_template": 1 << 20,
}
"""The strings whose text is read, and how long each may be. All others are passed over."""

PER_LAYER_KEYS = (".attention.head_count", ".attention.head_count_kv")
"""Ends of the keys that are an array, one number a layer, where layers differ."""

PER_LAYER_LIMIT = 1024


@dataclass(frozen=True)
class Value:
    """A metadata value as far as it is kept.

    `number` is that of an integer, or the largest of a per-layer array; `text` that of a kept string; `length` that of
    an array. `offset` is where the value's type stands in the file.
    """

    offset: int
    type: ValueType
    number: int | None = None
    text: str | None = None
    length: int | None = None
    element_type: ValueType | None = None

    @property
    def type_name(self) -> str:
        """The type in words, for a refusal."""
        return f"ARRAY of {self.element_type.name}" if self.element_type is not None else self.type.name


@dataclass(frozen=True)
class Header:
    """What one GGUF file says before its tensor data begins. `element_count` is the sum over all tensors."""

    version: int
    metadata: dict[str, Value]
    tensor_count: int
    element_count: int


def read_header(stream: BinaryIO, *, file_bytes: int) -> Header:
    """Read the header of a GGUF file of `file_bytes` bytes from its first byte on.

    Raises
    ------
    GgufRefused
        Within a second and 64 MB, if any of it is not as it must be.
    """
    cursor = Cursor(stream, file_bytes)
    version = _read_version(cursor)
    tensor_count = _read_count(cursor, "tensor count", TENSOR_LIMIT)
    metadata_count = _read_count(cursor, "metadata count", METADATA_LIMIT)
    metadata = _read_metadata(cursor, metadata_count)
    element_count = _read_tensors(cursor, tensor_count, _alignment(metadata), file_bytes)
    return Header(version, metadata, tensor_count, element_count)


def _read_version(cursor: Cursor) -> int:
    magic = cursor.take(4, "the magic")
    if magic != b"GGUF":
        raise GgufRefused(0, f"the magic {magic!r}", "b'GGUF'")
    version = cursor.u32("the version")
    if version not in VERSIONS:
        big_endian = version and version & 0xFFFF == 0
        found = (
            f"version {version.to_bytes(4, 'little').hex(' ')} of a big-endian file"
            if big_endian
            else f"version {version}"
        )
        raise GgufRefused(4, found, "little-endian version 2 or 3")
    return version


def _read_count(cursor: Cursor, what: str, limit: int) -> int:
    start = cursor.offset
    count = cursor.u64(what)
    if count > limit:
        raise GgufRefused(start, f"{what} {count}", f"at most {limit}")
    return count


def _read_metadata(cursor: Cursor, count: int) -> dict[str, Value]:
    metadata: dict[str, Value] = {}
    for index in range(count):
        start = cursor.offset
        key = cursor.text(KEY_LIMIT_BYTES, f"metadata key {index}")
        if not key:
            raise GgufRefused(start, f"an empty metadata key (number {index})", "a key of at least one byte")
        if key in metadata:
            raise GgufRefused(start, f"the metadata key {key[:80]!r} a second time", "each key once")
        metadata[key] = _read_value(cursor, key)
    return metadata


def _read_type(cursor: Cursor, what: str) -> ValueType:
    start = cursor.offset
    number = cursor.u32(f"the type of {what}")
    try:
        return ValueType(number)
    except ValueError:
        raise GgufRefused(start, f"type {number} for {what}", "a metadata type from 0 to 12") from None


def _read_value(cursor: Cursor, key: str) -> Value:
    start = cursor.offset
    what = f"the value of {key[:80]!r}"
    kind = _read_type(cursor, what)
    if kind is ValueType.ARRAY:
        return _read_array(cursor, key, start)
    if kind is ValueType.STRING:
        limit = KEPT_TEXT_BYTES.get(key)
        if limit is not None:
            return Value(start, kind, text=cursor.text(limit, what))
        cursor.skip_string(what)
        return Value(start, kind)
    raw = cursor.take(SCALAR_BYTES[kind], what)
    form = INTEGER_FORMATS.get(kind)
    return Value(start, kind, number=struct.unpack(f"<{form}", raw)[0] if form else None)


def _read_array(cursor: Cursor, key: str, start: int) -> Value:
    what = f"the array {key[:80]!r}"
    element_offset = cursor.offset
    element = _read_type(cursor, f"the elements of {what}")
    if element is ValueType.ARRAY:
        raise GgufRefused(element_offset, f"{what} of arrays", "arrays of numbers, booleans or strings")
    length_offset = cursor.offset
    length = cursor.u64(f"the length of {what}")
    # A string takes at least the 8 bytes of its own length.
    least = 8 if element is ValueType.STRING else SCALAR_BYTES[element]
    if length * least > cursor.remaining:
        allowed = f"at most {cursor.remaining // least}: {cursor.remaining} bytes of the file are left"
        raise GgufRefused(length_offset, f"{what} with {length} elements", allowed)
    largest = None
    form = INTEGER_FORMATS.get(element)
    if element is ValueType.STRING:
        cursor.skip_strings(length, what)
    elif form and key.endswith(PER_LAYER_KEYS) and 0 < length <= PER_LAYER_LIMIT:
        largest = max(struct.unpack(f"<{length}{form}", cursor.take(length * least, what)))
    else:
        cursor.skip(length * least, what)
    return Value(start, ValueType.ARRAY, number=largest, length=length, element_type=element)


def _alignment(metadata: dict[str, Value]) -> int:
    value = metadata.get("general.alignment")
    if value is None:
        return DEFAULT_ALIGNMENT
    if value.type is not ValueType.UINT32 or value.number is None:
        raise GgufRefused(value.offset, f"general.alignment of type {value.type_name}", "UINT32")
    if value.number not in ALIGNMENTS:
        allowed = f"a power of two from {ALIGNMENTS[0]} to {ALIGNMENTS[-1]}"
        raise GgufRefused(value.offset, f"general.alignment {value.number}", allowed)
    return value.number


def _read_tensors(cursor: Cursor, count: int, alignment: int, file_bytes: int) -> int:
    """Read all tensor infos and count their elements; the data they describe must lie in the file, in order."""
    names: set[str] = set()
    elements = 0
    end = 0
    start = cursor.offset
    for index in range(count):
        start = cursor.offset
        name = cursor.text(TENSOR_NAME_LIMIT_BYTES, f"the name of tensor {index}")
        if name in names:
            raise GgufRefused(start, f"the tensor {name!r} a second time", "each tensor once")
        names.add(name)
        tensor = _read_tensor(cursor, name)
        expected = end + -end % alignment
        if tensor.offset != expected:
            allowed = f"{expected}: tensors follow one another, each padded to {alignment} bytes"
            raise GgufRefused(cursor.offset - 8, f"offset {tensor.offset} of tensor {name!r}", allowed)
        elements += tensor.elements
        end = expected + tensor.bytes
    data_start = cursor.offset + -cursor.offset % alignment
    if count and data_start + end > file_bytes:
        found = f"tensor data up to byte {data_start + end}"
        raise GgufRefused(start, found, f"at most the {file_bytes} bytes of the file: is it cut off?")
    return elements


class _Tensor(NamedTuple):
    """What one tensor info says; `offset` counts from the start of the tensor data."""

    elements: int
    bytes: int
    offset: int


def _read_tensor(cursor: Cursor, name: str) -> _Tensor:
    """Read a tensor info after its name: dimensions, shape, type, offset."""
    start = cursor.offset
    what = f"the info of tensor {name!r}"
    dimensions = cursor.u32(what)
    if not 1 <= dimensions <= DIMENSION_LIMIT:
        raise GgufRefused(start, f"{dimensions} dimensions of tensor {name!r}", f"1 to {DIMENSION_LIMIT}")
    *shape, number, offset = struct.unpack(f"<{dimensions}QIQ", cursor.take(8 * dimensions + 12, what))
    elements = math.prod(shape)
    if not 0 < elements <= ELEMENT_LIMIT:
        allowed = f"sizes of at least 1 whose product is at most {ELEMENT_LIMIT}"
        raise GgufRefused(start + 4, f"the shape {shape} of tensor {name!r}", allowed)
    type_offset = start + 4 + 8 * dimensions
    kind = TENSOR_TYPES.get(number)
    if kind is None:
        known = ", ".join(str(known) for known in TENSOR_TYPES)
        raise GgufRefused(type_offset, f"type {number} of tensor {name!r}", f"a type this release knows ({known})")
    if shape[0] % kind.block_elements:
        found = f"rows of {shape[0]} elements in tensor {name!r} of type {kind.name}"
        raise GgufRefused(type_offset, found, f"a multiple of its block of {kind.block_elements}")
    return _Tensor(elements, elements // kind.block_elements * kind.block_bytes, offset)
