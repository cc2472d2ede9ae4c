from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decision_adapter.decision import Decision
from decision_adapter.errors import RequestRefused, TooManyOptions
from decision_adapter.responses import problem_of
from decision_adapter.wire import (
    Limits,
    Timing,
    confidence,
    invocations,
    semif,
    strict_json,
    systemone,
    systemone_answer,
)
from tests.support.semif_requests import single
from tests.support.stub_scorer import IDENTITY, StubScorer
from tests.support.systemone_requests import (
    CHOICE,
    HOSTILE_BODIES,
    NOUL,
    QUESTIONS,
    SCORE,
    choice,
    options,
    score,
    with_json,
)
from tests.support.systemone_requests import (
    systemone as systemone_request,
)

LIMITS = Limits(max_decisions=64, max_options=255)


def decode(request: Any) -> systemone.AskedSystemOne:
    return systemone.decode(json.dumps(request).encode(), LIMITS)


def decision(question: dict[str, Any], name: str = "q") -> Decision:
    return decode(systemone_request({name: question})).request.decisions[0]


def refusal(body: bytes) -> RequestRefused:
    with pytest.raises(RequestRefused) as refused:
        systemone.decode(body, LIMITS)
    return refused.value


def refusal_of(request: Any) -> RequestRefused:
    return refusal(json.dumps(request).encode())


def answer(request: Any, *probabilities: float) -> dict[str, Any]:
    asked = decode(request)
    scored = StubScorer((lambda _: probabilities) if probabilities else None).score(asked.request)
    document: dict[str, Any] = json.loads(asked.encode(scored, IDENTITY, Timing(queue_seconds=0.5, total_seconds=1.5)))
    return document


# Requests: what is read, and as what.


def test_names_and_options_are_read_in_their_order_byte_for_byte() -> None:
    names = ["z", "\u00e9", "e\u0301", "with space", "\U0001f3af", "<|im_end|>", "\u0000"]
    asked = decode(systemone_request({name: choice(dict.fromkeys(names)) for name in names})).request

    assert [each.id for each in asked.decisions] == names
    assert [option.id for option in asked.decisions[0].options] == names


@given(names=st.lists(st.text(min_size=1), min_size=1, max_size=8, unique=True))
def test_any_text_is_a_name(names: list[str]) -> None:
    assert [each.id for each in decode(systemone_request(dict.fromkeys(names, NOUL))).request.decisions] == names


@pytest.mark.parametrize("description", [None, "", "text", {}, {"k": ["v", None, 1.5]}, [], ["v", {"x": True}]])
def test_an_option_is_described_by_anything_or_nothing(description: Any) -> None:
    assert decision(choice({"a": description, "b": "x"})).options[0].description == description


@pytest.mark.parametrize("instructions", [None, "", "text", {}, {"task": ["x"]}, [], ["one", 2]])
@pytest.mark.parametrize("question", [CHOICE, SCORE], ids=["choice", "score"])
def test_instructions_are_anything_or_nothing(question: dict[str, Any], instructions: Any) -> None:
    assert decision(question | {"instructions": instructions}).question == instructions


@pytest.mark.parametrize("question", [CHOICE, SCORE], ids=["choice", "score"])
def test_instructions_may_be_left_out(question: dict[str, Any]) -> None:
    assert decision({name: value for name, value in question.items() if name != "instructions"}).question is None


@pytest.mark.parametrize(
    ("criteria", "described"),
    [
        (None, (None, None)),
        ({}, (None, None)),
        ({"true": "T"}, ("T", None)),
        ({"false": ["F"]}, (None, ["F"])),
        ({"false": "F", "true": {"t": 1}}, ({"t": 1}, "F")),
    ],
)
def test_the_outcomes_of_a_noul_are_always_true_and_then_false(criteria: Any, described: tuple[Any, Any]) -> None:
    found = decision(NOUL | {"criteria": criteria}).options

    assert [option.id for option in found] == ["yes", "no"]
    assert tuple(option.description for option in found) == described


@pytest.mark.parametrize("criteria", [{"true": "T"}, {"false": {"f": 1}}, {"true": ["T"], "false": None}])
@pytest.mark.parametrize("instructions", [{}, {"instructions": None}, {"instructions": ""}])
def test_a_noul_needs_no_instructions_where_an_outcome_is_described(criteria: Any, instructions: Any) -> None:
    assert decision({"type": "noul", "criteria": criteria} | instructions).kind == "noul"


@pytest.mark.parametrize(
    "criteria", [{}, {"criteria": None}, {"criteria": {}}, {"criteria": {"true": None, "false": ""}}]
)
def test_a_noul_that_asks_nothing_is_refused(criteria: dict[str, Any]) -> None:
    refused = refusal_of(systemone_request({"q": {"type": "noul"} | criteria}))

    assert "neither instructions nor a described outcome" in str(refused)


def test_a_misspelt_outcome_is_refused_and_not_ignored() -> None:
    assert "yes" in str(refusal_of(systemone_request({"q": NOUL | {"criteria": {"yes": "T"}}})))


@pytest.mark.parametrize("state", ["", "text", [], ["x", {"y": 1}], {}, {"a": None}])
def test_a_state_is_text_an_object_or_an_array(state: Any) -> None:
    assert decode(systemone_request(state=state)).request.state == state


@pytest.mark.parametrize("state", [None, 1, 2.5, True])
def test_any_other_state_is_refused(state: Any) -> None:
    assert refusal_of(systemone_request(state=state)).place == ("state",)


@pytest.mark.parametrize("model", ["jev-latest", "no-such-model", ""])
def test_any_model_is_taken(model: str) -> None:
    assert decode(systemone_request(model=model))


def test_no_model_is_taken() -> None:
    request = systemone_request()
    del request["model"]

    assert decode(request)


@pytest.mark.parametrize(
    "fields", [{"seed": 7}, {"x_trace_id": "t"}, {"decision": {}}, {"assets": None}, {"images": []}]
)
def test_unknown_and_empty_fields_are_ignored(fields: dict[str, Any]) -> None:
    assert decode(systemone_request(**fields)).request == decode(systemone_request()).request


@pytest.mark.parametrize("field", ["assets", "images", "files", "videos"])
def test_media_are_refused_by_name(field: str) -> None:
    refused = refusal_of(systemone_request(**{field: {"x": {}}}))

    assert (refused.place, f"{field!r} is set" in str(refused)) == ((field,), True)


@pytest.mark.parametrize("kind", ["box", "boolean", ""])
def test_a_question_of_another_type_is_refused_by_name(kind: str) -> None:
    refused = refusal_of(systemone_request({"where": {"type": kind, "instructions": "x"}}))

    assert f"question 'where': its type is {kind!r}" in str(refused)
    assert refused.place == ("questions", "where", "type")


@pytest.mark.parametrize("count", [1, 2, 16, 17, 26, 27, 52, 53, 255])
def test_1_to_255_options_are_read(count: int) -> None:
    assert len(decision(choice(options(count))).options) == count


@pytest.mark.parametrize("count", [0, 256])
def test_another_number_of_options_is_refused_by_question_count_and_limit(count: int) -> None:
    refused = refusal_of(systemone_request({"queue": choice(options(count))}))

    assert f"question 'queue': it has {count} options: from 1 to 255" in str(refused)
    assert refused.place == ("questions", "queue", "criteria")


@pytest.mark.parametrize("count", [2, 10])
def test_2_to_10_levels_are_read(count: int) -> None:
    levels = [f"Level {n}" for n in range(count)]

    found = decision(score(levels)).options
    assert [option.id for option in found] == [str(n) for n in range(count)]
    assert [option.description for option in found] == levels


@pytest.mark.parametrize("count", [0, 1, 11])
def test_another_number_of_levels_is_refused_by_question_count_and_limit(count: int) -> None:
    refused = refusal_of(systemone_request({"anger": score(["x"] * count)}))

    assert f"question 'anger': it has {count} level" in str(refused)
    assert "from 2 to 10" in str(refused)


@pytest.mark.parametrize("criteria", [{"0": "Calm", "1": "Angry"}, ["Calm", None], ["Calm", 3], "Calm", None, 3])
def test_levels_that_are_no_list_of_descriptions_are_refused(criteria: Any) -> None:
    assert refusal_of(systemone_request({"q": score([]) | {"criteria": criteria}})).place[:3] == (
        "questions",
        "q",
        "criteria",
    )


@pytest.mark.parametrize("criteria", [["a", "b"], "a", None, {"a": 3}, {"a": True}])
def test_options_that_are_no_object_of_descriptions_are_refused(criteria: Any) -> None:
    assert refusal_of(systemone_request({"q": choice({}) | {"criteria": criteria}})).place[:3] == (
        "questions",
        "q",
        "criteria",
    )


@pytest.mark.parametrize("instructions", [3, True, 2.5])
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_instructions_that_are_no_text_or_structure_are_refused(question: dict[str, Any], instructions: Any) -> None:
    refused = refusal_of(systemone_request({"q": question | {"instructions": instructions}}))

    assert refused.place == ("questions", "q", "instructions")


@pytest.mark.parametrize(
    ("request_", "place", "kind"),
    [
        ({"questions": {"q": NOUL}}, ("state",), "missing"),
        ({"state": "x"}, ("questions",), "missing"),
        (systemone_request({}), ("questions",), "too_short"),
        (systemone_request() | {"questions": []}, ("questions",), "type_error"),
        (systemone_request({"q": {"instructions": "x"}}), ("questions", "q", "type"), "missing"),
        (systemone_request({"q": {"type": "choice"}}), ("questions", "q", "criteria"), "missing"),
        (systemone_request({"q": []}), ("questions", "q"), "type_error"),
        (systemone_request({"": NOUL}), ("questions", ""), "value_error"),
        (systemone_request(model=3), ("model",), "type_error"),
        (systemone_request(x_permutations=0), ("x_permutations",), "value_error"),
        (systemone_request(x_permutations=256), ("x_permutations",), "value_error"),
        (systemone_request(x_permutations="2"), ("x_permutations",), "type_error"),
        (systemone_request(x_permutations=True), ("x_permutations",), "type_error"),
        ([], (), "type_error"),
    ],
)
def test_a_refusal_says_where_and_of_what_kind(request_: Any, place: tuple[Any, ...], kind: str) -> None:
    refused = refusal_of(request_)

    assert (refused.place, refused.kind) == (place, kind)


def test_64_questions_are_read_and_65_refused_with_both_numbers() -> None:
    questions = {str(n): NOUL for n in range(65)}

    assert "65 entries: from 1 to 64" in str(refusal_of(systemone_request(questions)))
    del questions["0"]
    assert len(decode(systemone_request(questions)).request.decisions) == 64


def test_more_prompts_than_one_question_can_have_are_refused_before_one_is_written() -> None:
    questions = {str(n): choice(options(255)) for n in range(2)}

    refused = refusal_of(systemone_request(questions, x_permutations=128))

    assert "makes 256 prompts" in str(refused)
    assert "255 are allowed" in str(refused)
    assert decode(systemone_request(questions, x_permutations=127)).request.permutations == 127


@pytest.mark.parametrize("name", HOSTILE_BODIES)
def test_a_hostile_body_is_refused(name: str) -> None:
    assert str(refusal(HOSTILE_BODIES[name]))


@pytest.mark.parametrize("field", ["state", "instructions", "description", "level"])
def test_nesting_up_to_the_limit_is_read(field: str) -> None:
    depth = strict_json.MAX_DEPTH

    assert systemone.decode(with_json(b"[" * depth + b"]" * depth, field=field), LIMITS)


# One route for two shapes.


def test_invocations_are_told_apart_by_their_fields() -> None:
    asked = [invocations.decode(json.dumps(each).encode(), LIMITS) for each in (single(), systemone_request())]

    assert [type(each) for each in asked] == [semif.SemifRequest, systemone.AskedSystemOne]


@pytest.mark.parametrize(
    "request_", [{}, {"state": "x"}, single() | systemone_request(), {"decisions": [], "questions": {}}]
)
def test_an_invocation_of_neither_or_both_shapes_is_refused(request_: Any) -> None:
    with pytest.raises(RequestRefused, match="give exactly one of them"):
        invocations.decode(json.dumps(request_).encode(), LIMITS)


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{", b'{"questions": ' + b"[" * 100_000, b"\xff"])
def test_an_invocation_that_is_no_request_is_refused(body: bytes) -> None:
    with pytest.raises(RequestRefused):
        invocations.decode(body, LIMITS)


# Answers.


def test_answers_come_in_the_order_and_by_the_names_of_the_questions() -> None:
    found = answer(systemone_request(dict.fromkeys(("z", "a", "é", "é"), NOUL)))

    assert list(found["answers"]) == ["z", "a", "\u00e9", "e\u0301"]
    assert found["model"] == IDENTITY.name
    assert set(found) == {"model", "answers", "usage", "x_provenance"}


def test_a_noul_is_the_probability_that_it_is_true() -> None:
    found = answer(systemone_request({"q": NOUL | {"criteria": {"false": "F", "true": "T"}}}), 0.9, 0.1)

    assert found["answers"]["q"] == {"type": "noul", "noul": 0.9}


def test_a_choice_is_the_most_probable_name_with_the_order_of_the_options_kept() -> None:
    found = answer(systemone_request({"q": choice({"z": "", "a": "", "m": ""})}), 0.06, 0.94, 0.0)["answers"]["q"]

    assert (found["type"], found["choice"]) == ("choice", "a")
    assert list(found["probabilities"].items()) == [("z", 0.06), ("a", 0.94), ("m", 0.0)]
    assert found["confidence"] == pytest.approx(0.91)


def test_a_score_is_the_mean_level_with_the_levels_echoed_as_they_were_given() -> None:
    levels = ["", {"label": "Annoyed", "n": [1, 2.5]}, ["Angry", None]]

    found = answer(systemone_request({"q": score(levels)}), 0.0, 0.95, 0.05)["answers"]["q"]

    assert found["score"] == pytest.approx(1.05)
    assert found["legend"] == {"0": "", "1": levels[1], "2": levels[2]}
    assert found["probabilities"] == {"0": 0.0, "1": 0.95, "2": 0.05}
    assert found["confidence"] == pytest.approx(0.925)


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [((0.94, 0.06, 0.0), 0.91), ((1.0,), 1.0), ((0.5, 0.5), 0.0), ((0.25,) * 4, 0.0), ((0.0, 1.0), 1.0)],
)
def test_the_confidence_of_a_choice_is_the_published_one(probabilities: tuple[float, ...], expected: float) -> None:
    assert confidence.of_choice(probabilities) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("probabilities", "expected"),
    [((0.0023, 0.116, 0.6753, 0.2064), 0.673), ((0.5, 0.0, 0.0, 0.5), 0.0), ((0.0, 1.0, 0.0), 1.0)],
)
def test_the_confidence_of_a_score_is_the_published_one(probabilities: tuple[float, ...], expected: float) -> None:
    assert confidence.of_score(probabilities) == pytest.approx(expected, abs=5e-4)


@given(weights=st.lists(st.floats(1e-9, 1), min_size=1, max_size=255))
def test_a_confidence_is_between_0_and_1_whatever_the_probabilities(weights: list[float]) -> None:
    total = math.fsum(weights)
    probabilities = [weight / total for weight in weights]

    assert 0 <= confidence.of_choice(probabilities) <= 1
    if len(weights) > 1:
        assert 0 <= confidence.of_score(probabilities) <= 1


def test_usage_counts_the_state_once() -> None:
    # The stub's state has 64 tokens, and each question adds 64.
    assert answer(systemone_request())["usage"] == {"input_tokens": 64 + 3 * 64, "output_tokens": 0}


@pytest.mark.parametrize("shape", ["decision", "decisions", "questions"])
def test_every_shape_says_in_one_place_where_its_answer_comes_from(shape: str) -> None:
    semif_decision = single()["decision"] | {"id": "locked"}
    request = {
        "decision": {"decision": semif_decision},
        "decisions": {"decisions": [semif_decision]},
        "questions": systemone_request({"locked": NOUL}),
    }[shape]
    asked = invocations.decode(json.dumps(request).encode(), LIMITS)
    scored = StubScorer().score(asked.request)

    found = json.loads(asked.encode(scored, IDENTITY, Timing(queue_seconds=0.5, total_seconds=1.5)))["x_provenance"]

    assert found["model"] == {
        "name": "stub", "file": "stub.gguf", "bytes": 4, "sha256": "ab" * 32, "architecture": "stub",
    }  # fmt: skip
    assert found["engine"] == {
        "build": "stub 1", "backend": "stub", "device": "CPU", "threads": 1, "gpu_layers": 0, "context_tokens": 100_000,
    }  # fmt: skip
    assert found["prompt"] == {"profile": "stub", "version": "stub-1"}
    assert "clamp((N*max(p) - 1)/(N - 1), 0, 1)" in found["confidence"]
    assert found["timing"] == {"queue_ms": 500.0, "prefix_ms": 1.0, "suffix_ms": 1.0, "total_ms": 1500.0}
    assert found["tokens"] == {"prefix": 64, "cached": 0}
    assert found["answers"] == {
        "locked": {
            "prompt_sha256": "cd" * 32, "slot_mass": 0.5, "input_tokens": 128, "permutations": 1, "temperature": 1.0,
            "probability_status": "conditional on the options given, uncalibrated",
        }
    }  # fmt: skip


# Refusals.


def test_a_wrong_body_is_a_422_with_its_place() -> None:
    problem = problem_of(refusal_of(systemone_request({"q": score(["x"])})))

    told = systemone_answer.refusal(problem)

    assert told.status == 422
    assert told.body == {
        "detail": [
            {
                "loc": ["body", "questions", "q", "criteria"],
                "msg": "question 'q': it has 1 level: from 2 to 10 are allowed",
                "type": "too_short",
            }
        ]
    }


def test_too_few_slots_are_a_422_at_the_question_that_needs_them() -> None:
    told = systemone_answer.refusal(problem_of(TooManyOptions("queue", 200, 26)))

    assert told.status == 422
    assert isinstance(told.body, dict)
    (detail,) = told.body["detail"]
    assert detail["loc"] == ["body", "questions", "queue", "criteria"]
    assert detail["msg"] == "decision 'queue' has 200 options, the limit is 26"
