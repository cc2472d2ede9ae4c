"""`llama_vocab`: text to tokens, and what kind each token is."""

from __future__ import annotations

import ctypes
from functools import cached_property

from decision_adapter.llama.library import Library

# enum llama_token_attr of llama.h.
_CONTROL = 1 << 3
_USER_DEFINED = 1 << 4


class Vocab:
    """The vocabulary of a loaded model; it lives as long as the model does."""

    def __init__(self, library: Library, handle: int) -> None:
        self._c = library.c
        self._handle = handle
        self.n_tokens: int = self._c.llama_vocab_n_tokens(handle)

    def tokenize(self, text: str, *, parse_special: bool) -> list[int]:
        """The tokens of `text`; nothing is put before or behind it.

        With `parse_special` the texts of control tokens become those tokens. Without it llama.cpp still turns the texts
        of USER_DEFINED tokens into them: for a caller's text use `decision_adapter.caller_text`.

        Raises
        ------
        UnicodeEncodeError
            If the text holds a lone surrogate.
        """
        encoded = text.encode()
        room = len(encoded) + 8
        while True:
            tokens = (ctypes.c_int32 * room)()
            count: int = self._c.llama_tokenize(self._handle, encoded, len(encoded), tokens, room, False, parse_special)
            if count >= 0:
                return list(tokens[:count])
            # A negative count is the room that was missing.
            room = -count

    def text(self, token: int) -> str:
        """The token's text as the vocabulary stores it (byte-level alphabets stay encoded)."""
        return (self._c.llama_vocab_get_text(self._handle, token) or b"").decode("utf-8", "replace")

    def token_or_none(self, token: int) -> str | None:
        """The text of a token the vocabulary may not have: llama.cpp says −1 then."""
        return self.text(token) if token >= 0 else None

    @property
    def bos(self) -> int:
        """The token that begins a sequence, −1 if there is none."""
        return int(self._c.llama_vocab_bos(self._handle))

    @property
    def eos(self) -> int:
        """The token that ends a sequence, −1 if there is none."""
        return int(self._c.llama_vocab_eos(self._handle))

    @property
    def add_bos(self) -> bool:
        """Whether the model was trained with `bos` before every prompt."""
        return bool(self._c.llama_vocab_get_add_bos(self._handle))

    @cached_property
    def user_defined_texts(self) -> frozenset[str]:
        """The texts of the USER_DEFINED tokens: llama.cpp finds them in any text, however it is tokenized."""
        return frozenset(self.text(token) for token in self._of_kind(_USER_DEFINED))

    @cached_property
    def control_texts(self) -> frozenset[str]:
        """The texts of the CONTROL tokens."""
        return frozenset(self.text(token) for token in self._of_kind(_CONTROL))

    @cached_property
    def special_tokens(self) -> frozenset[int]:
        """The tokens that mean structure and not text: CONTROL, and USER_DEFINED other than whitespace.

        Some vocabularies hold runs of blanks and line feeds as USER_DEFINED tokens; those are ordinary text.
        """
        user_defined = (token for token in self._of_kind(_USER_DEFINED) if not is_blank(self.text(token)))
        return frozenset(self._of_kind(_CONTROL)) | frozenset(user_defined)

    @cached_property
    def longest_text(self) -> int:
        """Characters of the longest token's text: one token stands for no more of an input than that."""
        return max(len(self.text(token)) for token in range(self.n_tokens))

    def _of_kind(self, kind: int) -> list[int]:
        return [token for token in range(self.n_tokens) if self._c.llama_vocab_get_attr(self._handle, token) & kind]


def is_blank(text: str) -> bool:
    """Whether a token's text is only whitespace, plain or as SentencePiece (▁) and byte-level BPE (Ġ Ċ ĉ) write it."""
    return not text.strip("\u2581ĠĊĉ \t\r\n")
