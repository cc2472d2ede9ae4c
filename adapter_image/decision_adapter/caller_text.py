"""Text of the caller to tokens that mean text, whatever it says."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from decision_adapter.errors import RequestRefused
from decision_adapter.llama import Vocab
from decision_adapter.llama.vocab import is_blank

# llama.cpp splits text by regular expressions, those of many models through std::regex, which recurses at every
# character of a match: a word of twenty thousand overflows the thread's stack, and the process is gone. Two runs can
# be one match, a blank beside a word; whoever writes without blanks loses at most a merge of two tokens at each cut.
_TOO_LONG_A_RUN = re.compile(r"\S{1000}(?=\S)|\s{1000}(?=\s)")


class TextTooLong(RequestRefused):
    """A text needs more tokens than allowed, at least `tokens`; it was not tokenized to find out how many."""

    def __init__(self, what: str, tokens: int) -> None:
        super().__init__(f"the {what} needs at least {tokens} tokens")
        self.tokens = tokens


class CallerText:
    """Tokenizes text so that no special token, of kind CONTROL or USER_DEFINED, can come from it.

    llama.cpp leaves control tokens alone when special parsing is off, but still finds the texts of USER_DEFINED
    tokens, such as ``</think>`` in some vocabularies. Such a text is therefore cut after its first character, and the
    pieces are tokenized one by one. The tokens are then looked at: a merge that built a special token from ordinary
    ones leads to a second try that cuts control texts too.

    Parameters
    ----------
    vocab:
        The model's vocabulary.
    max_tokens:
        Texts that certainly need more tokens are refused before they are tokenized: a megabyte of blanks would occupy
        the engine for seconds.
    """

    def __init__(self, vocab: Vocab, *, max_tokens: int) -> None:
        self._vocab = vocab
        self._max_characters = max_tokens * vocab.longest_text
        self._user_defined = _Cuts(text for text in vocab.user_defined_texts if not is_blank(text))

    @cached_property
    def _all_special(self) -> _Cuts:
        return _Cuts([*self._user_defined.texts, *self._vocab.control_texts])

    def tokenize(self, text: str, *, what: str) -> list[int]:
        """The tokens of `text`, none of them special. `what` is its name in an error.

        Raises
        ------
        TextTooLong
            If it is so long that it cannot fit.
        RequestRefused
            If the text is no Unicode text (a lone surrogate), or if a special token cannot be kept out of it.
        """
        if len(text) > self._max_characters:
            raise TextTooLong(what, -(-len(text) // self._vocab.longest_text))
        try:
            return self._without_special(text, what)
        except UnicodeEncodeError as error:
            surrogate = f"\\u{ord(error.object[error.start]):04x}"
            raise RequestRefused(f"the {what} holds the lone surrogate {surrogate}, which is no character") from error

    def _without_special(self, text: str, what: str) -> list[int]:
        for cuts in (self._user_defined, self._all_special):
            pieces = (self._vocab.tokenize(piece, parse_special=False) for piece in cuts.pieces(text))
            tokens = list(itertools.chain.from_iterable(pieces))
            if self._vocab.special_tokens.isdisjoint(tokens):
                return tokens
        found = self._vocab.text(next(token for token in tokens if token in self._vocab.special_tokens))
        raise RequestRefused(
            f"the {what} holds {found!r}, which this model can only read as a special token: remove it"
        )


class _Cuts:
    """Cuts a text inside every occurrence of some texts of two or more characters, and inside runs without end."""

    def __init__(self, texts: Iterable[str]) -> None:
        # A single character cannot be cut; it stays text, as it would in any other vocabulary.
        self.texts = frozenset(text for text in texts if len(text) > 1)
        lengths: dict[str, set[int]] = defaultdict(set)
        for text in self.texts:
            lengths[text[0]].add(len(text))
        self._lengths = {first: sorted(those) for first, those in lengths.items()}

    def pieces(self, text: str) -> Iterator[str]:
        begin = 0
        for cut in self._positions(text):
            yield text[begin:cut]
            begin = cut
        if begin < len(text):
            yield text[begin:]

    def _positions(self, text: str) -> list[int]:
        """After the first character of each occurrence, overlapping ones included; and in a run, every so often."""
        cuts = {run.end() for run in _TOO_LONG_A_RUN.finditer(text)}
        for first, lengths in self._lengths.items():
            at = text.find(first)
            while at >= 0:
                if any(text[at : at + length] in self.texts for length in lengths):
                    cuts.add(at + 1)
                at = text.find(first, at + 1)
        return sorted(cuts)
