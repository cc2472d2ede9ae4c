"""Scores of decisions: the state evaluated once, each decision branched from it, the answer slots read.

A score is the same bit for bit whether a decision comes alone or among others, in any order, with its state cached or
not, and agrees with an evaluation of the whole prompt at once. Three things make it so: every sequence has a key/value
stream of its own, the prefix is always evaluated whole and from its beginning, and every suffix is evaluated alone, in
one shape that depends on nothing but its own prompt.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from decision_adapter.calibration import Calibration, read_calibration
from decision_adapter.decision import DecisionRequest, Score, ScoredRequest
from decision_adapter.errors import Abandoned, EngineFailed, ModelRefused
from decision_adapter.identity import ScorerSettings, identity_of
from decision_adapter.llama import Context, Model, load_library
from decision_adapter.plan import Branch, PlannedDecision, Planner
from decision_adapter.prefixes import PrefixCache
from decision_adapter.profile import Profile, load_profile
from decision_adapter.prompt import PromptWriter
from decision_adapter.slots import Reading, read_slots
from decision_adapter.threads import usable_threads
from decision_provenance.digest import Digest
from decision_provenance.model_folder import ModelFiles


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
        With what is wrong with the engine, the device, the model, its chat template, its calibration or the profile.
    """
    profile = load_profile(settings.profile)
    calibration = read_calibration(
        files.first,
        choice=settings.temperature_choice,
        score=settings.temperature_score,
        noul=settings.temperature_noul,
    )
    library = load_library(settings.engine_dir)
    model = Model(library, files.first, n_gpu_layers=settings.gpu_layers)
    try:
        return Scorer(model, settings, profile, calibration, digest)
    except BaseException:
        model.close()
        raise


class Scorer:
    """A loaded model and its sequences. Every method must be called from the same thread."""

    def __init__(
        self, model: Model, settings: ScorerSettings, profile: Profile, calibration: Calibration, digest: Digest
    ) -> None:
        limit = settings.context_tokens
        if limit > model.n_ctx_train:
            raise ModelRefused(
                f"a prompt may have {limit} tokens and the model was trained on {model.n_ctx_train}: "
                f"set the limit (DECISION_CONTEXT_TOKENS) to at most {model.n_ctx_train}"
            )
        threads = usable_threads() if settings.threads is None else settings.threads
        writer = PromptWriter(model, profile, max_tokens=limit, max_options=settings.max_options)
        self._model = model
        self._calibration = calibration
        # The last sequence is the branch that decisions are evaluated in, one after the other.
        self._branch = settings.prefixes
        self._context = Context(model, n_seq_max=settings.prefixes + 1, n_ctx_seq=limit, n_threads=threads)
        self._prefixes = PrefixCache(self._context, settings.prefixes)
        try:
            truncates = self._probe_truncation(writer)
        except EngineFailed as error:
            self._context.close()
            raise ModelRefused(f"{model.path} loads but cannot be evaluated: {error}") from error
        self._planner = Planner(writer, max_tokens=limit, truncates=truncates)
        self.identity = identity_of(model, settings, profile, digest, threads)

    def measure(self, request: DecisionRequest) -> int:
        """How many tokens `score` would evaluate now; nothing is evaluated.

        Raises
        ------
        PromptTooLong
            If a prompt exceeds the token limit.
        RequestRefused
            If a text cannot be written or a decision has too many options.
        """
        plan = self._planner.plan(request)
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
        plan = self._planner.plan(request)
        prefix = plan.prefix.tokens
        cached = prefix in self._prefixes
        started = time.perf_counter()
        try:
            source = self._prefixes.sequence(prefix, cancelled=cancelled) if plan.needs_prefix else None
            evaluated = time.perf_counter()
            scores = tuple(self._score(each, source, cancelled) for each in plan.decisions)
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

    def _score(self, planned: PlannedDecision, source: int | None, cancelled: Callable[[], bool]) -> Score:
        started = time.perf_counter()
        decision, branches = planned.decision, planned.branches
        temperature = self._calibration.temperature(decision.kind)
        readings = [self._read(branch, source, temperature, cancelled) for branch in branches]
        as_asked, prompt = readings[0], branches[0].prompt
        return Score(
            decision_id=decision.id,
            probabilities=tuple(
                _mean([reading.probabilities[b.place_of(n)] for b, reading in zip(branches, readings, strict=True)])
                for n in range(len(decision.options))
            ),
            logits=as_asked.logits,
            slot_token_ids=tuple(slot.token_id for slot in prompt.slots),
            slot_mass=_mean([reading.slot_mass for reading in readings]),
            argmax_token_id=as_asked.argmax_token_id,
            input_tokens=prompt.n_tokens,
            suffix_tokens=sum(len(branch.prompt.suffix) for branch in branches),
            prompt_sha256=prompt.sha256,
            seconds=time.perf_counter() - started,
            permutations=len(branches),
            temperature=temperature,
        )

    def _read(self, branch: Branch, source: int | None, temperature: float, cancelled: Callable[[], bool]) -> Reading:
        context = self._context
        context.remove(self._branch)
        if branch.cut:
            if source is None:
                raise EngineFailed("a branch has no evaluated prefix to start from")
            context.copy(source, self._branch)
            if branch.cut < len(branch.prompt.prefix.tokens) and not context.truncate(self._branch, branch.cut):
                raise EngineFailed("llama.cpp could not shorten a copied sequence")
        context.decode(self._branch, branch.tokens, position=branch.cut, cancelled=cancelled)
        token_ids = [slot.token_id for slot in branch.prompt.slots]
        return read_slots(context.logits(), token_ids, temperature=temperature)

    def _probe_truncation(self, writer: PromptWriter) -> bool:
        """Whether this model's memory can drop the end of a sequence; recurrent layers cannot."""
        # Also the first evaluation: a model that cannot be evaluated is refused while it loads.
        prefix = writer.prefix("x").tokens
        self._context.decode(self._branch, prefix, position=0)
        read_slots(self._context.logits(), [slot.token_id for slot in writer.slots.letters])
        truncates = self._context.truncate(self._branch, len(prefix) - 1)
        self._context.clear()
        return truncates


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
