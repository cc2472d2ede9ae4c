"""The functions of llama.h and ggml-backend.h that the adapter calls, with their C types."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_char_p, c_float, c_int, c_int8, c_int32, c_size_t, c_uint8, c_uint32, c_void_p
from dataclasses import dataclass
from typing import Any

OPAQUE_BYTES = 1024
"""Room for one parameter structure, many times what any build has used (160 bytes in llama.cpp 0.5.0)."""


class OpaqueParams(ctypes.Structure):
    """A `llama_model_params` or `llama_context_params` whose fields are not known by name here.

    Both are larger than 16 bytes, so the x86-64 System V and the AArch64 calling conventions return them through a
    hidden pointer and pass them in memory: more room than the structure needs is harmless in either direction.
    """

    _fields_ = (("bytes", c_uint8 * OPAQUE_BYTES),)


class Batch(ctypes.Structure):
    """`llama_batch`, with room behind its last field for the same reason as `OpaqueParams`."""

    _fields_ = (
        ("n_tokens", c_int32),
        ("token", ctypes.POINTER(c_int32)),
        ("embd", c_void_p),
        ("pos", ctypes.POINTER(c_int32)),
        ("n_seq_id", ctypes.POINTER(c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(c_int32))),
        ("logits", ctypes.POINTER(c_int8)),
        ("reserved", c_uint8 * 200),
    )


LogCallback = ctypes.CFUNCTYPE(None, c_int, c_char_p, c_void_p)
"""`ggml_log_callback`: level, text, user data."""


@dataclass(frozen=True)
class Signature:
    """A function's result and argument types."""

    result: Any
    arguments: tuple[Any, ...] = ()


SIGNATURES: dict[str, Signature] = {
    "ggml_backend_load_all_from_path": Signature(None, (c_char_p,)),
    "ggml_backend_dev_count": Signature(c_size_t),
    "ggml_backend_dev_get": Signature(c_void_p, (c_size_t,)),
    "ggml_backend_dev_type": Signature(c_int, (c_void_p,)),
    "ggml_backend_dev_name": Signature(c_char_p, (c_void_p,)),
    "ggml_backend_dev_description": Signature(c_char_p, (c_void_p,)),
    "llama_backend_init": Signature(None),
    "llama_log_set": Signature(None, (LogCallback, c_void_p)),
    "llama_model_default_params": Signature(OpaqueParams),
    "llama_context_default_params": Signature(OpaqueParams),
    "llama_model_load_from_file": Signature(c_void_p, (c_char_p, OpaqueParams)),
    "llama_model_free": Signature(None, (c_void_p,)),
    "llama_model_get_vocab": Signature(c_void_p, (c_void_p,)),
    "llama_model_meta_val_str": Signature(c_int32, (c_void_p, c_char_p, c_void_p, c_size_t)),
    "llama_model_chat_template": Signature(c_char_p, (c_void_p, c_char_p)),
    "llama_model_n_ctx_train": Signature(c_int32, (c_void_p,)),
    "llama_model_has_encoder": Signature(c_bool, (c_void_p,)),
    "llama_vocab_n_tokens": Signature(c_int32, (c_void_p,)),
    "llama_vocab_get_text": Signature(c_char_p, (c_void_p, c_int32)),
    "llama_vocab_get_attr": Signature(c_int, (c_void_p, c_int32)),
    "llama_vocab_bos": Signature(c_int32, (c_void_p,)),
    "llama_vocab_eos": Signature(c_int32, (c_void_p,)),
    "llama_vocab_get_add_bos": Signature(c_bool, (c_void_p,)),
    "llama_tokenize": Signature(c_int32, (c_void_p, c_char_p, c_int32, c_void_p, c_int32, c_bool, c_bool)),
    "llama_init_from_model": Signature(c_void_p, (c_void_p, OpaqueParams)),
    "llama_free": Signature(None, (c_void_p,)),
    "llama_n_ctx": Signature(c_uint32, (c_void_p,)),
    "llama_n_ctx_seq": Signature(c_uint32, (c_void_p,)),
    "llama_n_batch": Signature(c_uint32, (c_void_p,)),
    "llama_n_ubatch": Signature(c_uint32, (c_void_p,)),
    "llama_n_seq_max": Signature(c_uint32, (c_void_p,)),
    "llama_set_n_threads": Signature(None, (c_void_p, c_int32, c_int32)),
    "llama_n_threads": Signature(c_int32, (c_void_p,)),
    "llama_batch_init": Signature(Batch, (c_int32, c_int32, c_int32)),
    "llama_batch_free": Signature(None, (Batch,)),
    "llama_decode": Signature(c_int32, (c_void_p, Batch)),
    "llama_synchronize": Signature(None, (c_void_p,)),
    "llama_get_logits_ith": Signature(ctypes.POINTER(c_float), (c_void_p, c_int32)),
    "llama_get_memory": Signature(c_void_p, (c_void_p,)),
    "llama_memory_clear": Signature(None, (c_void_p, c_bool)),
    "llama_memory_seq_rm": Signature(c_bool, (c_void_p, c_int32, c_int32, c_int32)),
    "llama_memory_seq_cp": Signature(None, (c_void_p, c_int32, c_int32, c_int32, c_int32)),
    "llama_memory_seq_pos_max": Signature(c_int32, (c_void_p, c_int32)),
}

OPTIONAL_SIGNATURES: dict[str, Signature] = {"llama_version": Signature(c_char_p)}
"""What older builds lack and the adapter can do without."""
