"""Whether a model fits into the memory of what it is to run on: found out at synth, not by a container that dies."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from decision_provenance.gguf import GgufFacts

from .compute import ALL_LAYERS, Compute
from .instance_catalog import InstanceFacts

_GIB = 2**30
# Of a key or a value that is kept as a 16-bit float.
_HALF_FLOAT_BITS = 16
# llama.cpp rounds the context of a sequence up to a multiple of this.
_CONTEXT_STEP = 256
# What is taken beside the model and its context. On a host: the system, SageMaker's agents, the adapter and the buffers
# of an evaluation. On each GPU: CUDA itself and those buffers.
_HOST_OVERHEAD_GIB = 1.5
_GPU_OVERHEAD_GIB = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What an instance has to hold, in bytes. `context_bytes` is 0 where the model's facts do not say.

    `settings` are the words for what to lower when it does not fit.
    """

    model_bytes: int
    context_bytes: int
    settings: str = "context_tokens or prefixes"

    @property
    def gib(self) -> float:
        """Both together, in GiB."""
        return (self.model_bytes + self.context_bytes) / _GIB


def context_bytes(facts: GgufFacts, *, context_tokens: int, prefixes: int) -> int:
    """The memory of an adapter's context: a sequence for each prefix, and one for the decision that is evaluated.

    >>> facts = GgufFacts(
    ...     version=3, architecture="llama", block_count=30, embedding_length=576, head_count=9, head_count_kv=3
    ... )
    >>> context_bytes(facts, context_tokens=4096, prefixes=2)
    283115520
    """
    return cache_bytes(facts, sequences=prefixes + 1, tokens=context_tokens)


def cache_bytes(
    facts: GgufFacts,
    *,
    sequences: int,
    tokens: int,
    key_bits: float = _HALF_FLOAT_BITS,
    value_bits: float = _HALF_FLOAT_BITS,
) -> int:
    """The memory of llama.cpp's context: a key and a value for each of the `tokens` of each sequence in each layer.

    The width of a head is taken as `embedding_length` / `head_count`, and every layer as one with attention.
    """
    layers, width, heads, kv_heads = facts.block_count, facts.embedding_length, facts.head_count, facts.head_count_kv
    if not layers or not width or not heads or not kv_heads:
        return 0
    kept = -(-tokens // _CONTEXT_STEP) * _CONTEXT_STEP * sequences
    return ceil(layers * kv_heads * -(-width // heads) * (key_bits + value_bits) / 8 * kept)


def fit_complaints(load: Load, compute: Compute) -> list[str]:
    """The sentence that says what is missing, if the smallest member of `compute` cannot hold `load`."""
    on_gpu = compute.gpu_layers == ALL_LAYERS

    def missing(instance: InstanceFacts) -> float:
        return load.gib + _overhead_gib(instance, on_gpu=on_gpu) - _memory_gib(instance, on_gpu=on_gpu)

    too_small = sorted((member for member in compute.members if missing(member) > 0), key=missing, reverse=True)
    if not too_small:
        return []
    smallest, *others = too_small
    fitting = [instance for instance in compute.alternatives.values() if missing(instance) <= 0]
    fitting.sort(key=lambda instance: _size(instance, like=smallest, on_gpu=on_gpu))
    has = f"{smallest.name} has {_memory_gib(smallest, on_gpu=on_gpu)} GiB{' of GPU memory' if on_gpu else ''}"
    # Rounded up: nothing that is missing reads as 0.0.
    short = f"{ceil(missing(smallest) * 10) / 10:.1f} GiB are missing"
    also = f", and {' and '.join(member.name for member in others)} cannot hold it either" if others else ""
    instead = (
        f"the smallest {compute.kind} instance that fits is {fitting[0].name}"
        if fitting
        else f"no {compute.kind} instance of the catalog is large enough"
    )
    less = f", or give fewer {load.settings}" if load.context_bytes else ""
    return [f"{_needs(load, _overhead_gib(smallest, on_gpu=on_gpu))} and {has}: {short}{also}; {instead}{less}"]


def _needs(load: Load, overhead_gib: float) -> str:
    context = f", {load.context_bytes / _GIB:.1f} its context" if load.context_bytes else ""
    parts = f"{load.model_bytes / _GIB:.1f} its files{context}, {overhead_gib:.1f} what runs it"
    return f"the model needs {load.gib + overhead_gib:.1f} GiB ({parts})"


def _memory_gib(instance: InstanceFacts, *, on_gpu: bool) -> int:
    # With part of the layers on a GPU the rest is on the host: how much of each, only llama.cpp knows.
    return instance.gpu_memory_gib if on_gpu else instance.memory_gib + instance.gpu_memory_gib


def _overhead_gib(instance: InstanceFacts, *, on_gpu: bool) -> float:
    return instance.gpus * _GPU_OVERHEAD_GIB + (0 if on_gpu else _HOST_OVERHEAD_GIB)


def _size(instance: InstanceFacts, *, like: InstanceFacts, on_gpu: bool) -> tuple[int, int, bool]:
    return _memory_gib(instance, on_gpu=on_gpu), instance.vcpus, instance.family != like.family
