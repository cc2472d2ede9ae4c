"""The System One shape: named questions of three kinds about one state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, assert_never

import msgspec

from decision_adapter.decision import (
    MAX_OPTIONS,
    Decision,
    DecisionRequest,
    JsonValue,
    Kind,
    ModelIdentity,
    Option,
    ScoredRequest,
)
from decision_adapter.errors import RequestRefused
from decision_adapter.wire import Limits, Timing, strict_json
from decision_adapter.wire.systemone_answer import encode

LEVELS = (2, 10)
MAX_PERMUTATIONS = MAX_OPTIONS

# What a noul is answered with; the first is what its probability is of.
YES, NO = "yes", "no"

# A server that reads no pictures must not answer as if there were none.
MEDIA = ("assets", "images", "files", "videos")

# msgspec knows no recursive types; what it reads as Any is a JsonValue.
Content = str | list[Any] | dict[str, Any]


class NoulCriteria(msgspec.Struct, forbid_unknown_fields=True):
    """What counts as true, and what as false."""

    true: Content | None = None
    false: Content | None = None


class NoulQuestion(msgspec.Struct, tag_field="type", tag="noul"):
    """Whether something is true; without instructions, at least one outcome is described."""

    instructions: Content | None = None
    criteria: NoulCriteria | None = None


class ChoiceQuestion(msgspec.Struct, tag_field="type", tag="choice"):
    """Which of some names fits; `criteria` describes each, or has null for a name that says it all."""

    criteria: Annotated[
        dict[str, Content | None], msgspec.Meta(extra_json_schema={"minProperties": 1, "maxProperties": MAX_OPTIONS})
    ]
    instructions: Content | None = None


class ScoreQuestion(msgspec.Struct, tag_field="type", tag="score"):
    """Which of some levels fits; `criteria` describes them, the lowest first."""

    criteria: Annotated[list[Content], msgspec.Meta(extra_json_schema={"minItems": LEVELS[0], "maxItems": LEVELS[1]})]
    instructions: Content | None = None


Question = NoulQuestion | ChoiceQuestion | ScoreQuestion


class SystemOneRequest(msgspec.Struct):
    """Questions about one state. Answers do not depend on their names, their order or each other.

    Any `model` is taken: there is one. `x_permutations` above 1 averages each answer over so many rotations of its
    options, at so many times the cost. Fields it does not know are ignored.
    """

    state: Content
    questions: Annotated[dict[str, Question], msgspec.Meta(extra_json_schema={"minProperties": 1})]
    model: str = ""
    x_permutations: Annotated[int, msgspec.Meta(ge=1, le=MAX_PERMUTATIONS)] = 1


class _Envelope(msgspec.Struct):
    """As much of a request as is read in one go; the questions one by one, so that a refusal can name one."""

    state: msgspec.Raw
    questions: dict[str, msgspec.Raw]
    model: str = ""
    x_permutations: int = 1
    assets: Any = None
    images: Any = None
    files: Any = None
    videos: Any = None


class _Typed(msgspec.Struct):
    type: str


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_TYPED = msgspec.json.Decoder(_Typed)
_QUESTION = msgspec.json.Decoder(Question)  # type: ignore[type-var,unused-ignore]  # a union is a type to msgspec


@dataclass(frozen=True)
class AskedSystemOne:
    """What was asked."""

    request: DecisionRequest

    def encode(self, scored: ScoredRequest, model: ModelIdentity, timing: Timing) -> bytes:
        """Write the answer's body, see `systemone_answer`."""
        return encode(self.request, scored, model, timing)


def decode(body: bytes, limits: Limits) -> AskedSystemOne:
    """Read a request's body.

    Raises
    ------
    RequestRefused
        In one sentence: what was found, where, what is allowed.

    Examples
    --------
    >>> body = b'''{"state": "It rains.", "questions": {"umbrella": {"type": "noul", "instructions": "Take one?"}}}'''
    >>> decode(body, Limits(max_decisions=64, max_options=255)).request.decisions[0].kind
    'noul'
    """
    read = strict_json.decode(_ENVELOPE, body)
    for name in MEDIA:
        if getattr(read, name):
            raise RequestRefused(
                f"{name!r} is set, and this server reads text only: put what matters into the state",
                place=(name,),
                kind="unsupported",
            )
    if not 1 <= read.x_permutations <= MAX_PERMUTATIONS:
        raise RequestRefused(
            f"'x_permutations' is {read.x_permutations}: from 1 to {MAX_PERMUTATIONS} are allowed",
            place=("x_permutations",),
        )
    decisions = _decisions(read, limits)
    # Each order of the options is a prompt to write before it is known how long all of them take.
    prompts = sum(min(read.x_permutations, len(decision.options)) for decision in decisions)
    most = max(MAX_PERMUTATIONS, limits.max_decisions)
    if prompts > most:
        raise RequestRefused(
            f"'x_permutations' is {read.x_permutations}, which makes {prompts} prompts of the questions' options: "
            f"{most} are allowed, ask fewer questions at a time or give fewer permutations",
            place=("x_permutations",),
        )
    return AskedSystemOne(DecisionRequest(_state(read), decisions, read.x_permutations))


def _state(read: _Envelope) -> JsonValue:
    state = strict_json.decode_value(read.state)
    if not isinstance(state, str | list | dict):
        found = "null" if state is None else "a number or a truth value"
        raise RequestRefused(
            f"the state is {found}: give text, an object or an array",
            place=("state",),
            kind="type_error",
        )
    return state


def _decisions(read: _Envelope, limits: Limits) -> tuple[Decision, ...]:
    count = len(read.questions)
    if not 1 <= count <= limits.max_decisions:
        raise RequestRefused(
            f"'questions' has {count} entries: from 1 to {limits.max_decisions} are allowed in one request",
            place=("questions",),
            kind="too_long" if count else "too_short",
        )
    return tuple(_decision(name, raw, limits) for name, raw in read.questions.items())


def _decision(name: str, raw: msgspec.Raw, limits: Limits) -> Decision:
    place = ("questions", name)
    if not name:
        raise RequestRefused("a question has an empty name: give it one", place=place)
    try:
        return _read(name, _question(raw), limits)
    except RequestRefused as refusal:
        raise RequestRefused(
            f"question {name!r}: {refusal}", place=(*place, *refusal.place), kind=refusal.kind
        ) from None


def _read(name: str, question: Question, limits: Limits) -> Decision:
    kind: Kind
    match question:
        case NoulQuestion():
            kind, options = "noul", _noul(question)
        case ChoiceQuestion():
            kind, options = "choice", _choice(question, limits)
        case ScoreQuestion():
            kind, options = "score", _score(question)
        case _:
            assert_never(question)
    for text in (question.instructions, *(option.description for option in options)):
        strict_json.refuse_depth(text)
    return Decision(name, question.instructions, options, kind)


def _question(raw: msgspec.Raw) -> Question:
    found = strict_json.decode_part(_TYPED, raw).type
    if found not in ("noul", "choice", "score"):
        raise RequestRefused(
            f"its type is {found[:80]!r}, and this server, which reads text only, answers noul, choice and score",
            place=("type",),
            kind="unsupported",
        )
    return strict_json.decode_part(_QUESTION, raw)


def _noul(question: NoulQuestion) -> tuple[Option, ...]:
    criteria = question.criteria or NoulCriteria()
    if not (question.instructions or criteria.true or criteria.false):
        raise RequestRefused(
            "it has neither instructions nor a described outcome: say what may be true, or describe true or false",
            kind="missing",
        )
    # Always in this order: what comes first in the request must not matter.
    return Option(YES, criteria.true), Option(NO, criteria.false)


def _choice(question: ChoiceQuestion, limits: Limits) -> tuple[Option, ...]:
    count = len(question.criteria)
    if not 1 <= count <= limits.max_options:
        raise _count_refused(f"it has {count} option{'s' * (count != 1)}", 1, limits.max_options, count)
    return tuple(Option(name, description) for name, description in question.criteria.items())


def _score(question: ScoreQuestion) -> tuple[Option, ...]:
    count = len(question.criteria)
    if not LEVELS[0] <= count <= LEVELS[1]:
        raise _count_refused(f"it has {count} level{'s' * (count != 1)}", *LEVELS, count)
    return tuple(Option(str(number), level) for number, level in enumerate(question.criteria))


def _count_refused(found: str, least: int, most: int, count: int) -> RequestRefused:
    return RequestRefused(
        f"{found}: from {least} to {most} are allowed",
        place=("criteria",),
        kind="too_short" if count < least else "too_long",
    )
