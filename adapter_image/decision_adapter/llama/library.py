"""Finding libllama in an engine directory, loading it and its back ends, and asking which devices there are."""

from __future__ import annotations

import atexit
import ctypes
import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from decision_adapter.errors import ModelRefused
from decision_adapter.llama.layout import ParamsLayout, probe_layout
from decision_adapter.llama.log import LogTail
from decision_adapter.llama.signatures import OPTIONAL_SIGNATURES, SIGNATURES, LogCallback

# libllama.so, libllama.so.0, libllama.v0.5.0.so, libllama.0.dylib; not libllama-common.so. The PyPI build xllamacpp
# has everything in one extension module.
_LIBRARY_NAME = re.compile(r"libllama(\.v?\d+(\.\d+)*)?\.(so(\.\d+)*|dylib)|xllamacpp.*\.so")

# enum ggml_backend_dev_type of ggml-backend.h.
_DEVICE_KINDS = {0: "CPU", 1: "GPU", 2: "IGPU", 3: "ACCEL"}


@dataclass(frozen=True)
class Device:
    """A device a loaded back end can really see; `kind` is CPU, GPU, IGPU (integrated) or ACCEL."""

    kind: str
    name: str
    description: str

    @property
    def is_gpu(self) -> bool:
        """Whether layers can be offloaded to it."""
        return self.kind in ("GPU", "IGPU")

    def __str__(self) -> str:
        return f"{self.name} ({self.description})" if self.description else self.name


@dataclass(frozen=True)
class Library:
    """A loaded libllama. Its functions are attributes of `c`, under llama.h's names."""

    path: Path
    c: Any
    layout: ParamsLayout
    log: LogTail
    version: str
    devices: tuple[Device, ...]


def load_library(engine_dir: Path) -> Library:
    """Load the engine in `engine_dir`, once a process, with every back end beside it that this machine can run.

    Raises
    ------
    ModelRefused
        If the directory holds no usable libllama, or one whose parameter structures are not recognised.
    """
    return _load(_find(engine_dir).resolve())


def _find(engine_dir: Path) -> Path:
    if not engine_dir.is_dir():
        raise ModelRefused(f"{engine_dir} is no directory; it must be the one that holds libllama and its back ends")
    found = sorted(path for path in engine_dir.iterdir() if _LIBRARY_NAME.fullmatch(path.name))
    if not found:
        raise ModelRefused(f"{engine_dir} holds no libllama (such as libllama.so); give the directory that does")
    different = {path.resolve() for path in found}
    if len(different) > 1:
        names = ", ".join(path.name for path in found)
        raise ModelRefused(f"{engine_dir} holds several engines, {names}; leave exactly one")
    return found[0]


@functools.cache
def _load(path: Path) -> Library:
    try:
        c = ctypes.CDLL(str(path))
    except OSError as error:
        raise ModelRefused(f"{path} cannot be loaded: {error}") from error
    _declare(c, path)
    log = LogTail()
    c.llama_log_set(log.callback, None)
    # Back ends may still log while the process exits, when no Python function can be called any more.
    atexit.register(c.llama_log_set, LogCallback(), None)
    if c.ggml_backend_dev_count() == 0:
        # A build with plug-in back ends: each is a library beside libllama, the best one for this processor wins.
        c.ggml_backend_load_all_from_path(str(path.parent).encode())
    c.llama_backend_init()
    devices = _devices(c)
    if not devices:
        raise ModelRefused(f"no back end in {path.parent} runs on this machine: {log.complaints or 'none was found'}")
    version = c.llama_version().decode() if hasattr(c, "llama_version") else "of unstated version"
    return Library(path, c, probe_layout(c, str(path)), log, version, devices)


def _declare(c: ctypes.CDLL, path: Path) -> None:
    missing = [name for name in SIGNATURES if not hasattr(c, name)]
    if missing:
        raise ModelRefused(f"{path} lacks {', '.join(missing)}: use a build of llama.cpp of October 2025 or later")
    for name, signature in (SIGNATURES | OPTIONAL_SIGNATURES).items():
        if hasattr(c, name):
            function = getattr(c, name)
            function.restype = signature.result
            function.argtypes = signature.arguments


def _devices(c: ctypes.CDLL) -> tuple[Device, ...]:
    def device(index: int) -> Device:
        handle = c.ggml_backend_dev_get(index)
        kind = c.ggml_backend_dev_type(handle)
        name, description = c.ggml_backend_dev_name(handle), c.ggml_backend_dev_description(handle)
        return Device(
            _DEVICE_KINDS.get(kind, f"kind {kind}"),
            (name or b"").decode("utf-8", "replace"),
            (description or b"").decode("utf-8", "replace").strip(),
        )

    return tuple(device(index) for index in range(c.ggml_backend_dev_count()))
