"""`llama_context`: a memory of sequences, and the evaluation of tokens at their ends."""

from __future__ import annotations

import ctypes
import itertools
from array import array
from collections.abc import Callable, Sequence

from decision_adapter.errors import Abandoned, EngineFailed, ModelRefused
from decision_adapter.llama.model import Model

N_BATCH = 512
"""The most tokens evaluated in one call."""

# llama.cpp rounds the context of a sequence up to a multiple of this.
_CONTEXT_STEP = 256

_WHOLE = -1


class Context:
    """A context whose sequences each have a stream (a key/value buffer) of their own.

    With one unified buffer the cells that other sequences hold change the bits of a result; with streams they do not.

    Parameters
    ----------
    model:
        The loaded model; it must outlive the context.
    n_seq_max:
        How many sequences, at least 2.
    n_ctx_seq:
        Tokens each sequence has room for, at least.
    n_threads:
        Threads that evaluate.

    Raises
    ------
    ModelRefused
        If the memory cannot be had, or if the context reads back other sizes than it was given.
    """

    def __init__(self, model: Model, *, n_seq_max: int, n_ctx_seq: int, n_threads: int) -> None:
        self._library = model.library
        self._c = model.library.c
        self._n_vocab = model.vocab.n_tokens
        n_ctx_seq = -(-n_ctx_seq // _CONTEXT_STEP) * _CONTEXT_STEP
        params = self._library.layout.context_params(
            n_ctx=n_ctx_seq * n_seq_max, n_batch=N_BATCH, n_ubatch=N_BATCH, n_seq_max=n_seq_max
        )
        self._library.log.forget()
        self._handle: int | None = self._c.llama_init_from_model(model.handle, params)
        if self._handle is None:
            raise ModelRefused(
                f"llama.cpp cannot make {n_seq_max} sequences of {n_ctx_seq} tokens for {model.path}: "
                f"{self._library.log.complaints or 'it gave no reason'}"
            )
        self._batch = self._c.llama_batch_init(N_BATCH, 0, 1)
        self._c.llama_set_n_threads(self._handle, n_threads, n_threads)
        self._memory = self._c.llama_get_memory(self._handle)
        try:
            self._verify(n_seq_max=n_seq_max, n_ctx_seq=n_ctx_seq, n_threads=n_threads)
        except ModelRefused:
            self.close()
            raise

    @property
    def n_ctx_seq(self) -> int:
        """Tokens each sequence has room for."""
        return int(self._c.llama_n_ctx_seq(self._handle))

    def decode(
        self, sequence: int, tokens: Sequence[int], *, position: int, cancelled: Callable[[], bool] = lambda: False
    ) -> None:
        """Evaluate `tokens` at the end of `sequence`, the first of them at `position`.

        `cancelled` is asked before each call of llama.cpp; True ends it.

        Raises
        ------
        Abandoned
            If `cancelled` said so; the sequence then holds some of the tokens.
        EngineFailed
            If llama.cpp could not evaluate them; the sequence is then in an unknown state.
        """
        last = len(tokens) - 1
        for start, end in _chunks(len(tokens)):
            if cancelled():
                raise Abandoned
            chunk = tokens[start:end]
            batch = self._batch
            batch.n_tokens = len(chunk)
            for index, token in enumerate(chunk):
                batch.token[index] = token
                batch.pos[index] = position + start + index
                batch.n_seq_id[index] = 1
                batch.seq_id[index][0] = sequence
                batch.logits[index] = start + index == last
            self._library.log.forget()
            status = self._c.llama_decode(self._handle, batch)
            if status != 0:
                raise EngineFailed(
                    f"llama_decode returned {status} for {len(chunk)} tokens at position {position + start}: "
                    f"{self._library.log.complaints or 'no reason was logged'}"
                )

    def synchronize(self) -> None:
        """Wait until everything given to a device is done, so that a clock read next is honest."""
        self._c.llama_synchronize(self._handle)

    def logits(self) -> array[float]:
        """The logits of the last token decoded, one for each token of the vocabulary.

        Raises
        ------
        EngineFailed
            If llama.cpp has none.
        """
        pointer = self._c.llama_get_logits_ith(self._handle, -1)
        if not pointer:
            raise EngineFailed("llama.cpp has no logits for the last token of a prompt")
        values = array("f")
        values.frombytes(ctypes.string_at(pointer, self._n_vocab * ctypes.sizeof(ctypes.c_float)))
        return values

    def copy(self, source: int, target: int) -> None:
        """Make `target`, which must be empty, hold the whole of `source`.

        Raises
        ------
        EngineFailed
            If afterwards it does not.
        """
        # Between streams llama.cpp copies whole sequences only.
        self._c.llama_memory_seq_cp(self._memory, source, target, _WHOLE, _WHOLE)
        if self.length(target) != self.length(source):
            raise EngineFailed(f"llama.cpp copied {self.length(target)} of {self.length(source)} tokens of a sequence")

    def remove(self, sequence: int) -> None:
        """Empty a sequence.

        Raises
        ------
        EngineFailed
            If afterwards it is not empty.
        """
        if not self._c.llama_memory_seq_rm(self._memory, sequence, _WHOLE, _WHOLE) or self.length(sequence):
            raise EngineFailed("llama.cpp could not empty a sequence")

    def truncate(self, sequence: int, length: int) -> bool:
        """Keep the first `length` tokens of a sequence; False, and nothing done, where the model's memory cannot."""
        return bool(self._c.llama_memory_seq_rm(self._memory, sequence, length, _WHOLE))

    def length(self, sequence: int) -> int:
        """How many tokens a sequence holds."""
        return int(self._c.llama_memory_seq_pos_max(self._memory, sequence)) + 1

    def clear(self) -> None:
        """Empty every sequence, data included."""
        self._c.llama_memory_clear(self._memory, True)

    def close(self) -> None:
        """Free the context. Twice is fine."""
        if self._handle is not None:
            self._c.llama_batch_free(self._batch)
            self._c.llama_free(self._handle)
            self._handle = None

    def _verify(self, *, n_seq_max: int, n_ctx_seq: int, n_threads: int) -> None:
        """Read back what the opaque parameters were told. In a unified buffer `n_ctx_seq` would be `n_ctx`."""
        c, handle = self._c, self._handle
        found = {
            "n_ctx": c.llama_n_ctx(handle),
            "n_ctx_seq": c.llama_n_ctx_seq(handle),
            "n_batch": c.llama_n_batch(handle),
            "n_ubatch": c.llama_n_ubatch(handle),
            "n_seq_max": c.llama_n_seq_max(handle),
            "n_threads": c.llama_n_threads(handle),
        }
        wanted = {
            "n_ctx": n_ctx_seq * n_seq_max,
            "n_ctx_seq": n_ctx_seq,
            "n_batch": N_BATCH,
            "n_ubatch": N_BATCH,
            "n_seq_max": n_seq_max,
            "n_threads": n_threads,
        }
        different = [
            f"{name} is {found[name]} instead of {wanted[name]}" for name in found if found[name] != wanted[name]
        ]
        if not self._memory:
            different.append("there is no memory of sequences")
        elif not self._batch.token or self._batch.embd or not self._batch.logits:
            different.append("llama_batch has another layout")
        if different:
            raise ModelRefused(
                f"{self._library.path} made another context than it was told ({'; '.join(different)}): "
                "use a build of llama.cpp that this adapter was tested with"
            )


def _chunks(length: int) -> list[tuple[int, int]]:
    """Where a long input is cut: into as few parts as possible, and those of equal size.

    A short last part would be evaluated less exactly: with fewer than 64 rows, llama.cpp's flash attention on a CPU
    sums in half precision.
    """
    count = -(-length // N_BATCH)
    bounds = [length * index // count for index in range(count + 1)] if count else []
    return list(itertools.pairwise(bounds))
