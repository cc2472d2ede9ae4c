"""Scores of decisions: the state evaluated once, each decision branched from it, the answer slots read.

A score is the same bit for bit whether a decision comes alone or among others, in any order, with its state cached or
not, and agrees with an evaluation of the whole prompt at once. Three things make it so: every sequence has a key/value
stream of its own, the prefix is always evaluated whole and from its beginning, and every suffix is evaluated alone, in
one shape that depends on nothing but its own prompt.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from decision_adapter.caller_text import TextTooLong
from decision_adapter.decision import Decision, DecisionRequest, ModelIdentity, Score, ScoredRequest
from decision_adapter.errors import Abandoned, EngineFailed, ModelRefused, PromptTooLong, RequestRefused
from decision_adapter.llama import Context, Model, load_library
from decision_adapter.prefixes import PrefixCache
from decision_adapter.profile import Profile, load_profile
from decision_adapter.prompt import Prefix, Prompt, PromptWriter
from decision_adapter.slots import read_slots
from decision_adapter.threads import usable_threads
from decision_provenance.digest import Digest
from decision_provenance.model_folder import ModelFiles

MIN_TOKENS = 64
"""The fewest tokens evaluated at once, where a prompt has them: llama.cpp's flash attention on a CPU works through
64 rows at a time; fewer take nearly twice as long and are summed in half precision, which moves a probability by some
1e-2. So a branch takes back the prefix's last tokens, and a prefix of fewer is not kept but evaluated with it."""


class ScorerSettings(Protocol):
    """What a scorer must be told; `decision_adapter.settings.Settings` says it."""

    @property
    def engine_dir(self) -> Path:
        """The directory of libllama and its back ends."""

    @property
    def model_name(self) -> str | None:
        """The name in answers; None for the stem of the model's file."""

    @property
    def threads(self) -> int | None:
        """Threads that evaluate; None for as many as this process gets processors."""

    @property
    def context_tokens(self) -> int:
        """The limit of one prompt in tokens."""

    @property
    def prefixes(self) -> int:
        """How many evaluated states are kept for reuse, at least 1."""

    @property
    def gpu_layers(self) -> int:
        """Layers to offload, 0 for none."""

    @property
    def profile(self) -> Path | None:
        """A file with the prompt's words; None for the built-in ones."""

    @property
    def max_options(self) -> int:
        """The most options a decision may have; the model's slots may allow fewer."""


@dataclass(frozen=True)
class _Branch:
    """One decision, ready to be evaluated: `cut` tokens of the prefix are copied, what follows is evaluated."""

    decision: Decision
    prompt: Prompt
    slot_token_ids: tuple[int, ...]
    cut: int

    @property
    def tokens(self) -> tuple[int, ...]:
        return self.prompt.prefix.tokens[self.cut :] + self.prompt.suffix


@dataclass(frozen=True)
class _Plan:
    """A request that was found good, whole: its branches share one prefix."""

    prefix: Prefix
    branches: tuple[_Branch, ...]

    @property
    def needs_prefix(self) -> bool:
        """False where the prefix is so short that every branch evaluates it."""
        return any(branch.cut for branch in self.branches)


def load_scorer(files: ModelFiles, settings: ScorerSettings, digest: Digest) -> Scorer:
    """Load the engine and the model, and prove that they can score.

    Parameters
    ----------
    files:
        The model's shards.
    settings:
        The adapter's settings.
    digest:
        SHA-256 and size of the model package, as `ModelIdentity` will state them.

    Raises
    ------
    ModelRefused
        With what is wrong with the engine, the device, the model, its chat template or the profile.
    """
    profile = load_profile(settings.profile)
    library = load_library(settings.engine_dir)
    model = Model(library, files.first, n_gpu_layers=settings.gpu_layers)
    try:
        return Scorer(model, settings, profile, digest)
    except BaseException:
        model.close()
        raise


class Scorer:
    """A loaded model and its sequences. Every method must be called from the same thread."""

    def __init__(self, model: Model, settings: ScorerSettings, profile: Profile, digest: Digest) -> None:
        self._limit = settings.context_tokens
        self._max_options = settings.max_options
        if self._limit > model.n_ctx_train:
            raise ModelRefused(
                f"a prompt may have {self._limit} tokens and the model was trained on {model.n_ctx_train}: "
                f"set the limit (DECISION_CONTEXT_TOKENS) to at most {model.n_ctx_train}"
            )
        threads = usable_threads() if settings.threads is None else settings.threads
        self._model = model
        self._writer = PromptWriter(model, profile, max_tokens=self._limit)
        # The last sequence is the branch that decisions are evaluated in, one after the other.
        self._branch = settings.prefixes
        self._context = Context(
            model, n_seq_max=settings.prefixes + 1, n_ctx_seq=settings.context_tokens, n_threads=threads
        )
        self._prefixes = PrefixCache(self._context, settings.prefixes)
        try:
            self._truncates = self._probe_truncation()
        except EngineFailed as error:
            self._context.close()
            raise ModelRefused(f"{model.path} loads but cannot be evaluated: {error}") from error
        self.identity = _identity(model, settings, profile, digest, threads)

    def measure(self, request: DecisionRequest) -> int:
        """How many tokens `score` would evaluate now; nothing is evaluated.

        Raises
        ------
        PromptTooLong
            If a prompt exceeds the token limit.
        RequestRefused
            If a text cannot be written or a decision has too many options.
        """
        plan = self._plan(request)
        prefix = plan.prefix.tokens
        new = len(prefix) if plan.needs_prefix and prefix not in self._prefixes else 0
        return new + sum(len(branch.tokens) for branch in plan.branches)

    def score(self, request: DecisionRequest, *, cancelled: Callable[[], bool] = lambda: False) -> ScoredRequest:
        """Score every decision of the request, unless `cancelled`, which is asked every few hundred tokens, says no.

        Raises
        ------
        Abandoned
            If it was cancelled.
        PromptTooLong, RequestRefused
            As `measure`, for any of the decisions, before the first is evaluated.
        EngineFailed
            If llama.cpp fails or gives no numbers; every evaluated state is forgotten then, so that nothing of this
            request can reach another.
        """
        plan = self._plan(request)
        prefix = plan.prefix.tokens
        cached = prefix in self._prefixes
        started = time.perf_counter()
        try:
            source = self._prefixes.sequence(prefix, cancelled=cancelled) if plan.needs_prefix else None
            evaluated = time.perf_counter()
            scores = tuple(self._score(branch, source, cancelled) for branch in plan.branches)
        except Abandoned:
            raise  # between two calls of llama.cpp: what is kept is whole
        except BaseException:
            self._prefixes.forget()
            raise
        return ScoredRequest(
            scores=scores,
            prefix_tokens=len(prefix),
            cached_tokens=len(prefix) if cached and plan.needs_prefix else 0,
            prefix_seconds=evaluated - started,
            suffix_seconds=time.perf_counter() - evaluated,
        )

    def close(self) -> None:
        """Free the context and the model. Twice is fine."""
        self._context.close()
        self._model.close()

    def _plan(self, request: DecisionRequest) -> _Plan:
        if not request.decisions:
            raise RequestRefused("the request holds no decision, give at least one")
        try:
            prefix = self._writer.prefix(request.state)
        except TextTooLong as error:
            raise PromptTooLong(request.decisions[0].id, error.tokens, self._limit, at_least=True) from error
        return _Plan(prefix, tuple(self._plan_branch(prefix, decision) for decision in request.decisions))

    def _plan_branch(self, prefix: Prefix, decision: Decision) -> _Branch:
        slots = self._writer.slots.first(len(decision.options), decision_id=decision.id, limit=self._max_options)
        try:
            prompt = self._writer.prompt(prefix, decision)
        except TextTooLong as error:
            raise PromptTooLong(decision.id, error.tokens, self._limit, at_least=True) from error
        if prompt.n_tokens > self._limit:
            raise PromptTooLong(decision.id, prompt.n_tokens, self._limit)
        return _Branch(decision, prompt, slots, self._cut(prompt))

    def _cut(self, prompt: Prompt) -> int:
        """How many tokens of the prefix a branch copies. It must depend on nothing but the prompt: see the module."""
        whole = len(prompt.prefix.tokens)
        if whole < MIN_TOKENS:
            return 0
        return max(0, min(whole, prompt.n_tokens - MIN_TOKENS)) if self._truncates else whole

    def _score(self, branch: _Branch, source: int | None, cancelled: Callable[[], bool]) -> Score:
        started = time.perf_counter()
        context = self._context
        context.remove(self._branch)
        if branch.cut:
            if source is None:
                raise EngineFailed("a branch has no evaluated prefix to start from")
            context.copy(source, self._branch)
            if branch.cut < len(branch.prompt.prefix.tokens) and not context.truncate(self._branch, branch.cut):
                raise EngineFailed("llama.cpp could not shorten a copied sequence")
        context.decode(self._branch, branch.tokens, position=branch.cut, cancelled=cancelled)
        reading = read_slots(context.logits(), branch.slot_token_ids)
        return Score(
            decision_id=branch.decision.id,
            probabilities=reading.probabilities,
            logits=reading.logits,
            slot_token_ids=branch.slot_token_ids,
            slot_mass=reading.slot_mass,
            argmax_token_id=reading.argmax_token_id,
            input_tokens=branch.prompt.n_tokens,
            prompt_sha256=branch.prompt.sha256,
            seconds=time.perf_counter() - started,
        )

    def _probe_truncation(self) -> bool:
        """Whether this model's memory can drop the end of a sequence; recurrent layers cannot."""
        # Also the first evaluation: a model that cannot be evaluated is refused while it loads.
        prefix = self._writer.prefix("x").tokens
        self._context.decode(self._branch, prefix, position=0)
        read_slots(self._context.logits(), self._writer.slots.token_ids)
        truncates = self._context.truncate(self._branch, len(prefix) - 1)
        self._context.clear()
        return truncates


def _identity(model: Model, settings: ScorerSettings, profile: Profile, digest: Digest, threads: int) -> ModelIdentity:
    devices = model.library.devices
    used = [device for device in devices if device.is_gpu == bool(settings.gpu_layers)] or list(devices)
    return ModelIdentity(
        name=settings.model_name or model.path.stem,
        file=model.path.name,
        bytes=digest.bytes,
        sha256=digest.sha256,
        architecture=model.metadata("general.architecture") or "unknown",
        engine=f"llama.cpp {model.library.version}",
        backend=", ".join(dict.fromkeys(device.name for device in used)),
        device=", ".join(dict.fromkeys(device.description or device.name for device in used)),
        threads=threads,
        context_tokens=settings.context_tokens,
        gpu_layers=settings.gpu_layers,
        prompt_profile=profile.name,
        prompt_version=profile.version,
    )
