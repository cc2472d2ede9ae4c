"""`llama_model`: the weights, their metadata and their vocabulary."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from decision_adapter.errors import ModelRefused, OffloadIncomplete
from decision_adapter.llama.library import Library
from decision_adapter.llama.vocab import Vocab


class Model:
    """A loaded GGUF.

    Parameters
    ----------
    library:
        The engine.
    path:
        The file, or the first shard of a split set: llama.cpp finds the others by name.
    n_gpu_layers:
        Layers to offload. Default: 0, all on the CPU.

    Raises
    ------
    ModelRefused
        If the file cannot be loaded; `OffloadIncomplete` if layers are to be offloaded and no GPU is visible, or if
        llama.cpp offloaded another number of layers than it was told.
    """

    def __init__(self, library: Library, path: Path, *, n_gpu_layers: int = 0) -> None:
        self.library = library
        self.path = path
        self._refuse_without_gpu(n_gpu_layers)
        library.log.forget()
        params = library.layout.model_params(n_gpu_layers=n_gpu_layers)
        self._handle: int | None = library.c.llama_model_load_from_file(os.fsencode(path), params)
        if self._handle is None:
            raise ModelRefused(f"llama.cpp cannot load {path}: {library.log.complaints or 'it gave no reason'}")
        try:
            self._verify_offload(n_gpu_layers)
            self._refuse_encoder()
            self.vocab = Vocab(library, library.c.llama_model_get_vocab(self._handle))
        except ModelRefused:
            self.close()
            raise

    @property
    def handle(self) -> int:
        """The `llama_model *`."""
        if self._handle is None:
            raise ValueError(f"the model {self.path} is closed")
        return self._handle

    @property
    def n_ctx_train(self) -> int:
        """How many tokens the model was trained to see."""
        return int(self.library.c.llama_model_n_ctx_train(self.handle))

    @property
    def chat_template(self) -> str | None:
        """The default chat template of its metadata."""
        template: bytes | None = self.library.c.llama_model_chat_template(self.handle, None)
        return None if template is None else template.decode("utf-8", "replace")

    def metadata(self, key: str) -> str | None:
        """A metadata value as text, None where the key is absent."""
        room = ctypes.create_string_buffer(1024)
        length = self.library.c.llama_model_meta_val_str(self.handle, key.encode(), room, len(room))
        return room.value.decode("utf-8", "replace") if length >= 0 else None

    def close(self) -> None:
        """Free the weights; contexts of this model must be closed before. Twice is fine."""
        if self._handle is not None:
            self.library.c.llama_model_free(self._handle)
            self._handle = None

    def _refuse_without_gpu(self, n_gpu_layers: int) -> None:
        # A GPU back end loads, and has its name in the list of back ends, on machines without any such device.
        if n_gpu_layers != 0 and not any(device.is_gpu for device in self.library.devices):
            raise OffloadIncomplete(
                f"{n_gpu_layers} layers are to be offloaded and no GPU is visible; the devices are: {self._seen()}. "
                "Use an instance with a GPU and its driver, or offload 0 layers",
                asked=n_gpu_layers,
                offloaded=0,
                devices=self._seen(),
            )

    def _seen(self) -> str:
        return ", ".join(str(device) for device in self.library.devices)

    def _refuse_encoder(self) -> None:
        if self.library.c.llama_model_has_encoder(self._handle):
            raise ModelRefused(f"{self.path} has an encoder; decisions need a decoder-only model")

    def _verify_offload(self, n_gpu_layers: int) -> None:
        """Read back from the loader's log what the parameter structure was told: nothing else reports it."""
        offloaded = self.library.log.offloaded
        if offloaded is None:
            if n_gpu_layers:
                raise OffloadIncomplete(
                    f"{self.library.path} did not report how many layers it offloaded, {n_gpu_layers} were asked for: "
                    "use a build of llama.cpp that this adapter was tested with",
                    asked=n_gpu_layers,
                    devices=self._seen(),
                )
            return
        done, layers = offloaded
        if done != min(n_gpu_layers, layers):
            raise OffloadIncomplete(
                f"{n_gpu_layers} of {layers} layers were to be offloaded, llama.cpp offloaded {done}",
                asked=n_gpu_layers,
                offloaded=done,
                layers=layers,
                devices=self._seen(),
            )
