"""What a GGUF file says about the model in it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import BinaryIO

from decision_provenance.gguf_cursor import GgufRefused
from decision_provenance.gguf_header import Header, Value, read_header
from decision_provenance.gguf_types import INTEGER_FORMATS, ValueType

__all__ = ["GgufFacts", "GgufRefused", "join_facts", "read_facts"]

_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TEXT_FIELDS = ("architecture", "name", "chat_template_sha256", "decision_type")
_REQUIRED_FIELDS = ("version", "architecture", "parameter_count", "tensor_count", "split_count", "split_no")


@dataclass(frozen=True)
class GgufFacts:
    """Facts of a GGUF file, each under the name of its metadata key; None where the file does not say.

    Parameters
    ----------
    version:
        GGUF version, 2 or 3.
    architecture:
        `general.architecture`, such as "llama"; empty only in a shard after the first, which carries no metadata.
    name, file_type:
        `general.name` and `general.file_type` (the number llama.cpp calls `ftype`).
    block_count, context_length, embedding_length:
        Layers, tokens the model was trained for, and width of a hidden state.
    head_count, head_count_kv:
        Attention heads; where layers differ, the largest, so that memory computed from it is enough for each layer.
    vocab_size:
        Number of tokens in the tokenizer; without one, the architecture's own `vocab_size`.
    parameter_count, tensor_count:
        Elements of all tensors, and how many tensors there are.
    split_count, split_no:
        How many files the model has (1 if it is not split), and which this one is, from 0.
    chat_template_sha256:
        SHA-256 of `tokenizer.chat_template` in UTF-8.
    decision_type:
        `decision.type`, which decision models carry.

    Examples
    --------
    >>> facts = GgufFacts(version=3, architecture="llama", parameter_count=134515008, tensor_count=272)
    >>> GgufFacts.from_json(facts.to_json()) == facts
    True
    """

    version: int
    architecture: str
    name: str | None = None
    file_type: int | None = None
    block_count: int | None = None
    context_length: int | None = None
    embedding_length: int | None = None
    head_count: int | None = None
    head_count_kv: int | None = None
    vocab_size: int | None = None
    parameter_count: int = 0
    tensor_count: int = 0
    split_count: int = 1
    split_no: int = 0
    chat_template_sha256: str | None = None
    decision_type: str | None = None

    def to_json(self) -> dict[str, int | str | None]:
        """The facts as a JSON object, every name present."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, object]) -> GgufFacts:
        """The facts of `to_json`'s object.

        Raises
        ------
        ValueError
            If a name is missing or unknown, or a value has the wrong type.
        """
        names = {field.name for field in fields(cls)}
        if set(document) != names:
            different = sorted(set(document) ^ names)
            raise ValueError(f"GGUF facts differ in {different} from what this release knows: package the model again")
        values: dict[str, int | str | None] = {}
        for name, value in document.items():
            if value is None and name not in _REQUIRED_FIELDS:
                values[name] = None
            elif isinstance(value, str) if name in _TEXT_FIELDS else _is_count(value):
                values[name] = value  # type: ignore[assignment]  # text or a whole number, as its field says
            else:
                allowed = "text" if name in _TEXT_FIELDS else "a whole number of at least 0"
                raise ValueError(f"GGUF facts: {name} is {value!r:.80}, allowed is {allowed}: package the model again")
        return cls(**values)  # type: ignore[arg-type]  # each was checked against its field above


def read_facts(stream: BinaryIO, *, file_bytes: int) -> GgufFacts:
    """Read the header of one GGUF file; only what precedes the tensor data is read.

    Parameters
    ----------
    stream:
        The file from its first byte on. It need not be seekable.
    file_bytes:
        Length of the whole file, which bounds every length in the header and must hold all tensor data.

    Raises
    ------
    GgufRefused
        If the header is not one that may be used: within a second and 64 MB, whatever the bytes are.

    Examples
    --------
    >>> import io
    >>> read_facts(io.BytesIO(b"FUGG"), file_bytes=4)
    Traceback (most recent call last):
    decision_provenance.gguf_cursor.GgufRefused: GGUF refused at byte 0: found the magic b'FUGG'; allowed is b'GGUF'
    """
    header = read_header(stream, file_bytes=file_bytes)
    split_no = _number(header, "split.no") or 0
    split_count = _number(header, "split.count") or 1
    if split_no >= split_count:
        found = f"shard number {split_no} of a model in {split_count} files"
        raise GgufRefused(header.metadata["split.no"].offset, found, "numbers from 0, below split.count")
    architecture = _identifier(header, "general.architecture")
    if architecture is None and split_no == 0:
        raise GgufRefused(0, "no general.architecture in the metadata", "a model that names its architecture")
    template = _text(header, "tokenizer.chat_template")
    return GgufFacts(
        version=header.version,
        architecture=architecture or "",
        name=_text(header, "general.name"),
        file_type=_number(header, "general.file_type"),
        block_count=_number(header, f"{architecture}.block_count"),
        context_length=_number(header, f"{architecture}.context_length"),
        embedding_length=_number(header, f"{architecture}.embedding_length"),
        head_count=_number(header, f"{architecture}.attention.head_count"),
        head_count_kv=_number(header, f"{architecture}.attention.head_count_kv"),
        vocab_size=_vocab_size(header, architecture),
        parameter_count=header.element_count,
        tensor_count=header.tensor_count,
        split_count=split_count,
        split_no=split_no,
        chat_template_sha256=None if template is None else hashlib.sha256(template.encode()).hexdigest(),
        decision_type=_identifier(header, "decision.type"),
    )


def join_facts(shards: Sequence[GgufFacts]) -> GgufFacts:
    """The facts of a whole model: the first shard's metadata, with the tensors of all shards.

    Raises
    ------
    ValueError
        If the shards are not all there, in order.

    Examples
    --------
    >>> first = GgufFacts(version=3, architecture="llama", parameter_count=5, split_count=2)
    >>> second = GgufFacts(version=3, architecture="", parameter_count=7, split_count=2, split_no=1)
    >>> join_facts([first, second]).parameter_count
    12
    """
    found = [(shard.split_no, shard.split_count) for shard in shards]
    if not shards or found != [(number, len(shards)) for number in range(len(shards))]:
        described = ", ".join(f"{number + 1} of {count}" for number, count in found) or "none"
        raise ValueError(
            f"the {len(shards)} files call themselves shard {described}: give all shards of one model, in order"
        )
    return replace(
        shards[0],
        parameter_count=sum(shard.parameter_count for shard in shards),
        tensor_count=sum(shard.tensor_count for shard in shards),
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _refuse_type(value: Value, key: str, allowed: str) -> GgufRefused:
    return GgufRefused(value.offset, f"{key} of type {value.type_name}", allowed)


def _number(header: Header, key: str) -> int | None:
    value = header.metadata.get(key)
    if value is None:
        return None
    if value.number is None:
        raise _refuse_type(value, key, " or ".join(kind.name for kind in INTEGER_FORMATS))
    if value.number < 0:
        raise GgufRefused(value.offset, f"{key} {value.number}", "a number of at least 0")
    return value.number


def _text(header: Header, key: str) -> str | None:
    value = header.metadata.get(key)
    if value is None:
        return None
    if value.text is None:
        raise _refuse_type(value, key, "STRING")
    return value.text


def _identifier(header: Header, key: str) -> str | None:
    """A short word that may stand in a template output, an environment variable or a log line as it is."""
    text = _text(header, key)
    if text is not None and not _IDENTIFIER.fullmatch(text):
        allowed = "a word of ASCII letters, digits, '.', '_' and '-'"
        raise GgufRefused(header.metadata[key].offset, f"{key} {text!r}", allowed)
    return text


def _vocab_size(header: Header, architecture: str | None) -> int | None:
    tokens = header.metadata.get("tokenizer.ggml.tokens")
    if tokens is None:
        return _number(header, f"{architecture}.vocab_size")
    if tokens.element_type is not ValueType.STRING:
        raise _refuse_type(tokens, "tokenizer.ggml.tokens", "ARRAY of STRING")
    return tokens.length
