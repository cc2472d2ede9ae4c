"""Evaluated states, kept in sequences so that the next decision about one does not evaluate it again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from decision_adapter.llama import Context


class PrefixCache:
    """Prefixes in the sequences 0 to `size` − 1 of a context; the one that was asked for longest ago goes first."""

    def __init__(self, context: Context, size: int) -> None:
        self._context = context
        self._free = list(range(size))
        self._kept: OrderedDict[tuple[int, ...], int] = OrderedDict()

    def __contains__(self, tokens: tuple[int, ...]) -> bool:
        return tokens in self._kept

    def sequence(self, tokens: tuple[int, ...], *, cancelled: Callable[[], bool]) -> int:
        """The sequence that holds exactly `tokens`, evaluated now if none does and unless `cancelled`.

        Raises
        ------
        Abandoned
            If it was cancelled; what was evaluated of it is not kept.
        EngineFailed
            If they cannot be evaluated; call `forget` then.
        """
        if tokens in self._kept:
            self._kept.move_to_end(tokens)
            return self._kept[tokens]
        if not self._free:
            _, oldest = self._kept.popitem(last=False)
            self._free.append(oldest)
        sequence = self._free[-1]
        self._context.remove(sequence)
        self._context.decode(sequence, tokens, position=0, cancelled=cancelled)
        self._context.synchronize()
        self._kept[tokens] = self._free.pop()
        return sequence

    def forget(self) -> None:
        """Empty every sequence of the context, after a failure that leaves them in an unknown state."""
        self._free.extend(self._kept.values())
        self._kept.clear()
        self._context.clear()
