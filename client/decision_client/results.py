"""What is answered to decisions: probabilities over the options of each, and what produced them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from decision_client.decisions import Decision
from decision_client.provenance import ModelIdentity, Provenance, read_model, read_provenance
from decision_client.reading import NotAnAnswer, Part, read_document


@dataclass(frozen=True)
class DecisionResult:
    """The answer to one decision.

    `probabilities` and `logits` are by option id, in the request's order. Probabilities add up to 1 over the options
    given: they compare these options with each other and are no calibrated confidence. `slot_mass` (0–1) is the share
    of the model's whole probability that fell on any of the options: where it is low, the model wanted to say something
    else. `input_tokens` counts the whole prompt; `seconds` is the time the endpoint took. `provenance` is shared by all
    results of one request, and None where a container of another make tells none.

    Examples
    --------
    >>> from decision_client.examples import SAMPLE_ANSWER
    >>> result = result_from(SAMPLE_ANSWER)
    >>> result.choice, result.probabilities["billing"]
    ('account-access', 0.25)
    """

    id: str
    probabilities: Mapping[str, float]
    logits: Mapping[str, float]
    slot_mass: float
    input_tokens: int
    prompt_version: str
    prompt_sha256: str
    model: ModelIdentity
    probability_status: str
    seconds: float
    provenance: Provenance | None = None

    @property
    def choice(self) -> str:
        """The id of the most probable option; of equals, the first in the request."""
        return max(self.probabilities, key=lambda option_id: self.probabilities[option_id])


@dataclass(frozen=True)
class BatchTiming:
    """What the decisions of one request cost together: tokens of the shared prefix, and seconds."""

    batch_size: int
    prefix_tokens: int
    prefill_seconds: float
    suffix_forward_seconds: float
    total_seconds: float


@dataclass(frozen=True)
class BatchResult:
    """The answers to decisions asked together, in their order."""

    results: tuple[DecisionResult, ...]
    timing: BatchTiming

    def by_id(self) -> dict[str, DecisionResult]:
        """The results by the id of their decision."""
        return {result.id: result for result in self.results}


def result_from(body: bytes) -> DecisionResult:
    """Read the answer to one decision.

    Raises
    ------
    NotAnAnswer
        If the body is something else.
    """
    answer = read_document(body)
    return _result(answer["result"], _provenance(answer))


def batch_from(body: bytes) -> BatchResult:
    """Read the answer to several decisions.

    Raises
    ------
    NotAnAnswer
        If the body is something else.
    """
    answer = read_document(body)
    provenance = _provenance(answer)
    return BatchResult(tuple(_result(each, provenance) for each in answer["results"].each()), _timing(answer["timing"]))


def check_answers(decisions: Sequence[Decision], results: Sequence[DecisionResult]) -> None:
    """Check that these are the answers to these decisions, each over its own options.

    Raises
    ------
    NotAnAnswer
        If they are another request's.
    """
    if [result.id for result in results] != [decision.id for decision in decisions]:
        raise NotAnAnswer("its ids are not those of the request")
    for decision, result in zip(decisions, results, strict=True):
        if list(result.probabilities) != [option.id for option in decision.options]:
            raise NotAnAnswer(f"the options of {result.id!r} are not those of the request")


def _result(part: Part, provenance: Provenance | None) -> DecisionResult:
    option_ids = [option_id.text() for option_id in part["option_ids"].each()]
    if not option_ids or len(set(option_ids)) != len(option_ids):
        raise NotAnAnswer(f"its {part.where!r} has no options, or one of them twice")
    return DecisionResult(
        id=part["id"].text(),
        probabilities=_by_option(option_ids, [each.share() for each in part["probabilities"].each()]),
        logits=_by_option(option_ids, [each.number() for each in part["option_logits"].each()]),
        slot_mass=part["allowed_token_mass"].share(),
        input_tokens=part["input_tokens"].count(),
        prompt_version=part["prompt_version"].text(),
        prompt_sha256=part["prompt_sha256"].text(),
        model=read_model(part["model"]),
        probability_status=part["probability_status"].text(),
        seconds=part["total_seconds"].number(),
        provenance=provenance,
    )


def _by_option(option_ids: list[str], numbers: list[float]) -> dict[str, float]:
    if len(numbers) != len(option_ids):
        raise NotAnAnswer(f"it has {len(option_ids)} option ids, and {len(numbers)} numbers for them")
    return dict(zip(option_ids, numbers, strict=True))


def _timing(part: Part) -> BatchTiming:
    return BatchTiming(
        batch_size=part["batch_size"].count(),
        prefix_tokens=part["prefix_tokens"].count(),
        prefill_seconds=part["prefill_seconds"].number(),
        suffix_forward_seconds=part["suffix_forward_seconds"].number(),
        total_seconds=part["total_seconds"].number(),
    )


def _provenance(answer: Part) -> Provenance | None:
    part = answer.get("x_provenance")
    return None if part is None else read_provenance(part)
