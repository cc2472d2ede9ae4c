"""What is answered in System One: an answer of its kind to each question, and what produced it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar, assert_never

from decision_client.decisions import JsonValue
from decision_client.provenance import Provenance, read_provenance
from decision_client.questions import ChoiceQuestion, NoulQuestion, Question, ScoreQuestion
from decision_client.reading import NotAnAnswer, Part, read_document


@dataclass(frozen=True)
class NoulAnswer:
    """`noul` (0–1) is the probability that it is true."""

    noul: float


@dataclass(frozen=True)
class ChoiceAnswer:
    """The most probable name, the probability of each in the request's order, and how far from an even spread (0–1)."""

    choice: str
    probabilities: Mapping[str, float]
    confidence: float


@dataclass(frozen=True)
class ScoreAnswer:
    """The mean level, the levels as they were given with the probability of each, and how near they lie (0–1)."""

    score: float
    legend: tuple[JsonValue, ...]
    probabilities: tuple[float, ...]
    confidence: float


Answer = NoulAnswer | ChoiceAnswer | ScoreAnswer

_Kind = TypeVar("_Kind", bound=Answer)


@dataclass(frozen=True)
class Answers(Mapping[str, Answer]):
    """The answers by the names of their questions, in the request's order.

    `noul`, `choice` and `score` give the answer to a question of that kind, which a type checker then knows.
    `input_tokens` counts the state once and each question.

    Examples
    --------
    >>> from decision_client.examples import SAMPLE_ANSWERS
    >>> answers = answers_from(SAMPLE_ANSWERS)
    >>> answers.noul("refund").noul, answers.choice("team").choice, answers.score("anger").score
    (0.75, 'billing', 1.25)
    """

    answers: Mapping[str, Answer]
    model: str
    input_tokens: int
    provenance: Provenance | None = None

    def noul(self, name: str) -> NoulAnswer:
        """The answer to a `NoulQuestion`."""
        return _of_kind(NoulAnswer, name, self.answers[name])

    def choice(self, name: str) -> ChoiceAnswer:
        """The answer to a `ChoiceQuestion`."""
        return _of_kind(ChoiceAnswer, name, self.answers[name])

    def score(self, name: str) -> ScoreAnswer:
        """The answer to a `ScoreQuestion`."""
        return _of_kind(ScoreAnswer, name, self.answers[name])

    def __getitem__(self, name: str) -> Answer:
        return self.answers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)


def answers_from(body: bytes) -> Answers:
    """Read the answers to questions.

    Raises
    ------
    NotAnAnswer
        If the body is something else.
    """
    document = read_document(body)
    provenance = document.get("x_provenance")
    return Answers(
        answers={name: _answer(part) for name, part in document["answers"].fields()},
        model=document["model"].text(),
        input_tokens=document["usage"]["input_tokens"].count(),
        provenance=None if provenance is None else read_provenance(provenance),
    )


def check_answers(questions: Mapping[str, Question], answers: Answers) -> None:
    """Check that these are the answers to these questions, each of its question's kind and over its options.

    Raises
    ------
    NotAnAnswer
        If they are another request's.
    """
    if list(answers) != list(questions):
        raise NotAnAnswer("the names in its 'answers' are not those of the request")
    for name, question in questions.items():
        if not _fits(question, answers[name]):
            raise NotAnAnswer(f"its answer to {name!r} is not one to that question")


def _fits(question: Question, answer: Answer) -> bool:
    match question:
        case NoulQuestion():
            return isinstance(answer, NoulAnswer)
        case ChoiceQuestion():
            return isinstance(answer, ChoiceAnswer) and list(answer.probabilities) == list(question.criteria)
        case ScoreQuestion():
            return isinstance(answer, ScoreAnswer) and len(answer.probabilities) == len(question.levels)
        case _:
            assert_never(question)


def _answer(part: Part) -> Answer:
    kind = part["type"].text()
    match kind:
        case "noul":
            return NoulAnswer(part["noul"].share())
        case "choice":
            return _choice(part)
        case "score":
            return _score(part)
    raise NotAnAnswer(f"its {part.where!r} has the type {kind[:40]!r}, which is not noul, choice or score")


def _choice(part: Part) -> ChoiceAnswer:
    probabilities = {name: each.share() for name, each in part["probabilities"].fields()}
    choice = part["choice"].text()
    if choice not in probabilities:
        raise NotAnAnswer(f"the choice of its {part.where!r} is none of its options")
    return ChoiceAnswer(choice, probabilities, part["confidence"].share())


def _score(part: Part) -> ScoreAnswer:
    levels = [str(number) for number, _ in enumerate(part["probabilities"].fields())]
    score = part["score"].number()
    if not levels or not 0 <= score <= len(levels) - 1 + 1e-6:
        raise NotAnAnswer(f"the score of its {part.where!r} lies on none of its levels")
    return ScoreAnswer(
        score=score,
        legend=tuple(part["legend"][level].value for level in levels),
        probabilities=tuple(part["probabilities"][level].share() for level in levels),
        confidence=part["confidence"].share(),
    )


def _of_kind(kind: type[_Kind], name: str, answer: Answer) -> _Kind:
    if not isinstance(answer, kind):
        raise TypeError(f"the answer to {name!r} is a {type(answer).__name__}, not a {kind.__name__}")
    return answer
