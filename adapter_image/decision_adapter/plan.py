"""What a request takes: every prompt written and found good, before the first token is evaluated."""

from __future__ import annotations

from dataclasses import dataclass, replace

from decision_adapter.caller_text import TextTooLong
from decision_adapter.decision import Decision, DecisionRequest
from decision_adapter.errors import PromptTooLong, RequestRefused
from decision_adapter.prompt import Prefix, Prompt, PromptWriter

MIN_TOKENS = 64
"""The fewest tokens evaluated at once, where a prompt has them: llama.cpp's flash attention on a CPU works through
64 rows at a time; fewer take nearly twice as long and are summed in half precision, which moves a probability by some
1e-2. So a branch takes back the prefix's last tokens, and a prefix of fewer is not kept but evaluated with it."""


@dataclass(frozen=True)
class Branch:
    """One prompt, ready to be evaluated: `cut` tokens of the prefix are copied, what follows is evaluated.

    Its options are the decision's from number `shift` on, and then those before it.
    """

    prompt: Prompt
    shift: int
    cut: int

    @property
    def tokens(self) -> tuple[int, ...]:
        """What is evaluated."""
        return self.prompt.prefix.tokens[self.cut :] + self.prompt.suffix

    def place_of(self, option: int) -> int:
        """Where among the branch's options the decision's option of this number is."""
        return (option - self.shift) % len(self.prompt.slots)


@dataclass(frozen=True)
class PlannedDecision:
    """One decision and its branches, of which the first has the options in the caller's order."""

    decision: Decision
    branches: tuple[Branch, ...]


@dataclass(frozen=True)
class Plan:
    """A request that was found good, whole: its branches share one prefix."""

    prefix: Prefix
    decisions: tuple[PlannedDecision, ...]

    @property
    def branches(self) -> tuple[Branch, ...]:
        """All there are."""
        return tuple(branch for each in self.decisions for branch in each.branches)

    @property
    def needs_prefix(self) -> bool:
        """False where the prefix is so short that every branch evaluates it."""
        return any(branch.cut for branch in self.branches)


class Planner:
    """Writes the prompts of a request.

    Parameters
    ----------
    writer:
        Writes one prompt.
    max_tokens:
        The limit of one prompt.
    truncates:
        Whether the model's memory can drop the end of a sequence.
    """

    def __init__(self, writer: PromptWriter, *, max_tokens: int, truncates: bool) -> None:
        self._writer = writer
        self._limit = max_tokens
        self._truncates = truncates

    def plan(self, request: DecisionRequest) -> Plan:
        """The plan of a request.

        Raises
        ------
        PromptTooLong
            If a prompt exceeds the token limit.
        RequestRefused
            If a text cannot be written or a decision has too many options.
        """
        if not request.decisions:
            raise RequestRefused("the request holds no decision, give at least one")
        try:
            prefix = self._writer.prefix(request.state)
        except TextTooLong as error:
            raise PromptTooLong(request.decisions[0].id, error.tokens, self._limit, at_least=True) from error
        return Plan(
            prefix,
            tuple(
                PlannedDecision(
                    decision,
                    tuple(
                        self._branch(prefix, decision, shift)
                        for shift in shifts(len(decision.options), request.permutations)
                    ),
                )
                for decision in request.decisions
            ),
        )

    def _branch(self, prefix: Prefix, decision: Decision, shift: int) -> Branch:
        shown = replace(decision, options=decision.options[shift:] + decision.options[:shift]) if shift else decision
        try:
            prompt = self._writer.prompt(prefix, shown)
        except TextTooLong as error:
            raise PromptTooLong(decision.id, error.tokens, self._limit, at_least=True) from error
        if prompt.n_tokens > self._limit:
            raise PromptTooLong(decision.id, prompt.n_tokens, self._limit)
        return Branch(prompt, shift, self._cut(prompt))

    def _cut(self, prompt: Prompt) -> int:
        """How many tokens of the prefix a branch copies. It must depend on nothing but the prompt: see `scorer`."""
        whole = len(prompt.prefix.tokens)
        if whole < MIN_TOKENS:
            return 0
        return max(0, min(whole, prompt.n_tokens - MIN_TOKENS)) if self._truncates else whole


def shifts(options: int, permutations: int) -> tuple[int, ...]:
    """By how many places the options are rotated in each order they are shown in: evenly spread, none twice.

    >>> shifts(6, 1), shifts(6, 3), shifts(2, 4)
    ((0,), (0, 2, 4), (0, 1))
    """
    orders = max(1, min(permutations, options))
    return tuple(order * options // orders for order in range(orders))
