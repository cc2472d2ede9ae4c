"""A build of llama.cpp is known by the defaults of its structures, or it is refused."""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from decision_adapter.errors import ModelRefused
from decision_adapter.llama import Library
from decision_adapter.llama.layout import probe_layout

pytestmark = pytest.mark.skipif(
    platform.machine().lower() not in ("x86_64", "amd64"),
    reason="only on x86-64 can Python stand in for a function that returns a structure",
)

# As every known build begins; what follows is theirs.
MODEL = struct.pack("<QQii", 0, 0, -1, 1) + bytes(56)
CONTEXT = struct.pack("<4I", 512, 2048, 512, 1) + b"\xff" * 117

Fills = Callable[[bytes, bytes], Any]


@pytest.fixture
def engine_that_fills() -> Fills:
    """A libllama as far as the probe goes: two functions that fill the structures with these bytes."""
    returns_through_pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)

    def engine(model: bytes, context: bytes) -> Any:
        return SimpleNamespace(
            llama_model_default_params=returns_through_pointer(lambda room: ctypes.memmove(room, model, len(model))),
            llama_context_default_params=returns_through_pointer(
                lambda room: ctypes.memmove(room, context, len(context))
            ),
        )

    return engine


def placed(defaults: bytes, offset: int, value: int) -> bytes:
    changed = bytearray(defaults)
    struct.pack_into("<i", changed, offset, value)
    return bytes(changed)


def test_the_installed_engine_begins_as_every_known_build(library: Library) -> None:
    assert library.layout.context_defaults[:16] == CONTEXT[:16]
    assert library.layout.model_defaults[:16] == MODEL[:16]


def test_only_the_fields_that_are_set_differ_from_a_builds_own_defaults(engine_that_fills: Fills) -> None:
    layout = probe_layout(engine_that_fills(MODEL, CONTEXT), "libllama.so")

    model = bytes(layout.model_params(n_gpu_layers=33).bytes)
    context = bytes(layout.context_params(n_ctx=4096, n_batch=256, n_ubatch=128, n_seq_max=3).bytes)

    assert model.rstrip(b"\0") == placed(MODEL, 16, 33).rstrip(b"\0")
    assert context.rstrip(b"\0") == struct.pack("<4I", 4096, 256, 128, 3) + CONTEXT[16:]


@pytest.mark.parametrize("all_layers", [-1, 999])
def test_both_ways_of_saying_all_layers_are_known(engine_that_fills: Fills, all_layers: int) -> None:
    probe_layout(engine_that_fills(placed(MODEL, 16, all_layers), CONTEXT), "libllama.so")


@pytest.mark.parametrize("offset", [4, 8, 12], ids=["n_batch", "n_ubatch", "n_seq_max"])
def test_a_context_that_begins_otherwise_is_refused(engine_that_fills: Fills, offset: int) -> None:
    with pytest.raises(
        ModelRefused, match=r"libllama\.so: llama_context_params begins with .*77.*, which is no layout"
    ):
        probe_layout(engine_that_fills(MODEL, placed(CONTEXT, offset, 77)), "libllama.so")


@pytest.mark.parametrize("offset", [0, 8, 16, 20], ids=["devices", "overrides", "n_gpu_layers", "split_mode"])
def test_a_model_that_begins_otherwise_is_refused(engine_that_fills: Fills, offset: int) -> None:
    with pytest.raises(ModelRefused, match=r"libllama\.so: llama_model_params begins with .*77.*, which is no layout"):
        probe_layout(engine_that_fills(placed(MODEL, offset, 77), CONTEXT), "libllama.so")


@pytest.mark.parametrize("bytes_in_front", [4, 8])
@pytest.mark.parametrize("structure", ["model", "context"])
def test_a_field_before_the_known_ones_is_refused(
    engine_that_fills: Fills, structure: str, bytes_in_front: int
) -> None:
    front = bytes(bytes_in_front)
    model, context = (front + MODEL, CONTEXT) if structure == "model" else (MODEL, front + CONTEXT)

    with pytest.raises(ModelRefused, match=f"llama_{structure}_params begins with"):
        probe_layout(engine_that_fills(model, context), "libllama.so")


@pytest.mark.parametrize("size", [0, 16, 600])
def test_a_structure_of_an_unlikely_size_is_refused(engine_that_fills: Fills, size: int) -> None:
    filled = (MODEL + bytes(1000))[:size]

    with pytest.raises(ModelRefused, match=rf"llama_model_default_params fills {size} bytes, between 24 and 512"):
        probe_layout(engine_that_fills(filled, CONTEXT), "libllama.so")


@pytest.mark.parametrize("last", [0x5A, 0xA5], ids=hex)
def test_a_last_byte_that_looks_like_a_canary_is_still_a_default(engine_that_fills: Fills, last: int) -> None:
    layout = probe_layout(engine_that_fills(MODEL, CONTEXT[:-1] + bytes([last])), "libllama.so")

    assert layout.context_defaults.rstrip(b"\0")[-1] == last
