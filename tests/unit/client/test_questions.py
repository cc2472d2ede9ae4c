"""Questions of System One: what is sent, and what is read back."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from decision_client import ChoiceQuestion, EndpointUnavailable, NoulQuestion, RequestRefused, ScoreQuestion
from decision_client.examples import EXAMPLE_QUESTIONS, EXAMPLE_STATE, SAMPLE_ANSWERS

ClientOf = Callable[..., tuple[Any, Any]]


def _changed(change: Callable[[dict[str, Any]], object]) -> bytes:
    document = json.loads(SAMPLE_ANSWERS)
    change(document["answers"])
    return json.dumps(document).encode()


def test_questions_are_sent_as_the_wire_contract_says(client_of: ClientOf) -> None:
    client, runtime = client_of(SAMPLE_ANSWERS)

    client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS)

    assert json.loads(runtime.bodies[0]) == {
        "state": "I was charged twice.",
        "questions": {
            "refund": {"type": "noul", "instructions": "Does the customer want money back?"},
            "team": {
                "type": "choice",
                "instructions": "Who should handle it?",
                "criteria": {"billing": "Payments.", "other": None},
            },
            "anger": {"type": "score", "criteria": ["Calm", "Annoyed", "Angry"]},
        },
    }


def test_a_described_outcome_alone_asks_a_noul() -> None:
    assert NoulQuestion(false="Nobody is hurt.").to_json() == {"type": "noul", "criteria": {"false": "Nobody is hurt."}}


def test_permutations_are_sent_only_where_they_are_asked_for(client_of: ClientOf) -> None:
    client, runtime = client_of(SAMPLE_ANSWERS)

    client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS, permutations=3)

    assert json.loads(runtime.bodies[0])["x_permutations"] == 3


def test_each_answer_is_of_its_questions_kind(client_of: ClientOf) -> None:
    client, _ = client_of(SAMPLE_ANSWERS)

    answers = client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS)

    assert list(answers) == ["refund", "team", "anger"]
    assert answers.noul("refund").noul == 0.75
    assert answers.choice("team").probabilities == {"billing": 0.875, "other": 0.125}
    assert answers.score("anger").legend == ("Calm", "Annoyed", "Angry")
    assert answers.score("anger").probabilities == (0.125, 0.5, 0.375)


def test_an_answer_taken_for_another_kind_is_a_type_error(client_of: ClientOf) -> None:
    client, _ = client_of(SAMPLE_ANSWERS)

    with pytest.raises(TypeError, match="'refund' is a NoulAnswer, not a ChoiceAnswer"):
        client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS).choice("refund")


def test_answers_say_which_model_gave_them_and_how_sure_it_was_of_the_options(client_of: ClientOf) -> None:
    client, _ = client_of(SAMPLE_ANSWERS)

    provenance = client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS).provenance

    assert (provenance.model.file, provenance.model.sha256) == ("model.gguf", "b1" * 32)
    assert provenance.engine["threads"] == 2
    assert provenance.answers["team"].slot_mass == 0.9


def test_a_server_that_tells_no_provenance_is_read_too(client_of: ClientOf) -> None:
    document = json.loads(SAMPLE_ANSWERS)
    del document["x_provenance"]
    client, _ = client_of(json.dumps(document).encode())

    assert client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS).provenance is None


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda answers: answers.pop("team"), "not those of the request"),
        (lambda answers: answers.update(team=answers["refund"]), "answer to 'team' is not one to that question"),
        (lambda answers: answers["team"].update(probabilities={"billing": 1.0}), "answer to 'team' is not"),
        (lambda answers: answers["team"].update(choice="sales"), "none of its options"),
        (lambda answers: answers["team"].update(confidence=None), "'answers.team.confidence' is null"),
        (lambda answers: answers["anger"].update(score=7), "lies on none of its levels"),
        (lambda answers: answers["anger"].update(legend={}), "no field '0'"),
        (lambda answers: answers["refund"].update(noul=1.5), "a number from 0 to 1 belongs"),
        (lambda answers: answers["refund"].update(type="box"), "type 'box'"),
    ],
)
def test_answers_to_something_else_are_no_answers(
    client_of: ClientOf, spoil: Callable[[dict[str, Any]], object], what: str
) -> None:
    client, _ = client_of(_changed(spoil))

    with pytest.raises(EndpointUnavailable, match=f"not as a decision endpoint does: .*{what}"):
        client.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS)


def test_a_question_that_json_cannot_hold_is_refused_before_it_is_sent(client_of: ClientOf) -> None:
    client, runtime = client_of()

    with pytest.raises(RequestRefused, match="cannot be written as JSON"):
        client.decide("x", {"q": ChoiceQuestion({"a": float("inf")}), "s": ScoreQuestion(["a", "b"])})

    assert runtime.bodies == []
