"""Where the fields the adapter sets lie in llama.cpp's two parameter structures.

The structures grow and reorder between builds, and an engine directory has no headers. Only their heads are used, the
first four fields of each, which are alike in every build that was tested. A head is recognised by its defaults, and
what was written is read back from the model's log and from the context (`model`, `context`); a build that does not
match is refused, never guessed.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Callable
from dataclasses import dataclass

from decision_adapter.errors import ModelRefused
from decision_adapter.llama.signatures import OPAQUE_BYTES, OpaqueParams

# llama_context_params: uint32_t n_ctx, n_batch, n_ubatch, n_seq_max.
_CONTEXT_HEAD = struct.Struct("<4I")
_CONTEXT_DEFAULTS = (2048, 512, 1)

# llama_model_params: devices *, tensor_buft_overrides *, int32_t n_gpu_layers, enum split_mode.
_MODEL_HEAD = struct.Struct("<QQii")
_ALL_LAYERS = (-1, 999)
_SPLIT_MODE_LAYER = 1


@dataclass(frozen=True)
class ParamsLayout:
    """The defaults of both structures of one build, recognised and ready to be filled in."""

    model_defaults: bytes
    context_defaults: bytes

    def model_params(self, *, n_gpu_layers: int) -> OpaqueParams:
        """`llama_model_params` with everything at its default but the layers to offload."""
        devices, overrides, _, split_mode = _MODEL_HEAD.unpack_from(self.model_defaults)
        return _filled(self.model_defaults, _MODEL_HEAD.pack(devices, overrides, n_gpu_layers, split_mode))

    def context_params(self, *, n_ctx: int, n_batch: int, n_ubatch: int, n_seq_max: int) -> OpaqueParams:
        """`llama_context_params` with everything at its default (`kv_unified` is false) but its four sizes."""
        return _filled(self.context_defaults, _CONTEXT_HEAD.pack(n_ctx, n_batch, n_ubatch, n_seq_max))


def probe_layout(library: ctypes.CDLL, path: str) -> ParamsLayout:
    """Recognise the parameter structures of `library`.

    Raises
    ------
    ModelRefused
        If a default is not where every known build has it.
    """
    model = _defaults(library, "llama_model_default_params", path)
    context = _defaults(library, "llama_context_default_params", path)
    devices, overrides, n_gpu_layers, split_mode = _MODEL_HEAD.unpack_from(model)
    if devices or overrides or n_gpu_layers not in _ALL_LAYERS or split_mode != _SPLIT_MODE_LAYER:
        raise _unknown_layout(path, "llama_model_params", (devices, overrides, n_gpu_layers, split_mode))
    n_ctx, *sizes = _CONTEXT_HEAD.unpack_from(context)
    if tuple(sizes) != _CONTEXT_DEFAULTS:
        raise _unknown_layout(path, "llama_context_params", (n_ctx, *sizes))
    return ParamsLayout(model, context)


def _defaults(library: ctypes.CDLL, function: str, path: str) -> bytes:
    """The bytes the function fills in; what follows them, and is never read, is zero on x86-64."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        # AArch64 passes the hidden pointer in x8, which only a call that returns the structure can set.
        return bytes(getattr(library, function)().bytes)
    # On x86-64 the hidden pointer is an ordinary first argument: canaries show which bytes were written.
    address = ctypes.cast(getattr(library, function), ctypes.c_void_p).value
    returns_through_pointer = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address or 0)
    written = [_with_canary(returns_through_pointer, canary) for canary in (0xA5, 0x5A)]
    size = max(len(filled.rstrip(bytes([canary]))) for filled, canary in zip(written, (0xA5, 0x5A), strict=True))
    if not _MODEL_HEAD.size <= size <= OPAQUE_BYTES // 2:
        raise ModelRefused(
            f"{path}: {function} fills {size} bytes, between {_MODEL_HEAD.size} and {OPAQUE_BYTES // 2} are expected: "
            "use a build of llama.cpp that this adapter was tested with"
        )
    # Padding between fields keeps its canary in both: equal bytes are the fields.
    return bytes(a if a == b else 0 for a, b in zip(*written, strict=True))


def _with_canary(returns_through_pointer: Callable[[int], object], canary: int) -> bytes:
    room = (ctypes.c_uint8 * OPAQUE_BYTES)()
    ctypes.memset(room, canary, OPAQUE_BYTES)
    returns_through_pointer(ctypes.addressof(room))
    return bytes(room)


def _filled(defaults: bytes, head: bytes) -> OpaqueParams:
    return OpaqueParams.from_buffer_copy(head + defaults[len(head) :])


def _unknown_layout(path: str, name: str, found: tuple[int, ...]) -> ModelRefused:
    return ModelRefused(
        f"{path}: {name} begins with {', '.join(map(str, found))}, which is no layout this adapter knows: "
        "use a build of llama.cpp that it was tested with"
    )
