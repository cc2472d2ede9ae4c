"""What is sent and what is read back, in the endpoint's own wire format."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from decision_client import Decision, Option
from decision_client.examples import EXAMPLE_DECISION, SAMPLE_ANSWER

ClientOf = Callable[..., tuple[Any, Any]]


def _batch_answer(*ids: str) -> bytes:
    result = json.loads(SAMPLE_ANSWER)["result"]
    timing = {
        "batch_size": len(ids),
        "prefix_tokens": 90,
        "prefill_seconds": 0.5,
        "suffix_forward_seconds": 0.25,
        "total_seconds": 0.75,
    }
    return json.dumps({"results": [{**result, "id": each} for each in ids], "timing": timing}).encode()


def test_one_decision_is_sent_as_the_wire_contract_says(client_of: ClientOf) -> None:
    client, runtime = client_of(SAMPLE_ANSWER)

    client.score(EXAMPLE_DECISION)

    assert json.loads(runtime.bodies[0]) == {
        "decision": {
            "id": "support-route",
            "state": "The customer cannot sign in.",
            "question": "Which queue should handle this request?",
            "options": [
                {"id": "account-access", "description": "Account access support."},
                {"id": "billing", "description": "Billing support."},
            ],
        }
    }


def test_an_answer_keeps_the_options_order_and_says_which_model_gave_it(client_of: ClientOf) -> None:
    client, _ = client_of(SAMPLE_ANSWER)

    result = client.score(EXAMPLE_DECISION)

    assert list(result.probabilities.items()) == [("account-access", 0.75), ("billing", 0.25)]
    assert result.logits["billing"] == 10.9
    assert (result.slot_mass, result.input_tokens, result.seconds) == (0.9, 118, 0.4)
    assert (result.model.file, result.model.sha256, result.model.settings["threads"]) == ("model.gguf", "b1" * 32, 2)


def test_the_choice_is_the_most_probable_option(client_of: ClientOf) -> None:
    document = json.loads(SAMPLE_ANSWER)
    document["result"]["probabilities"] = [0.1, 0.9]
    client, _ = client_of(json.dumps(document).encode())

    assert client.score(EXAMPLE_DECISION).choice == "billing"


def test_option_ids_that_look_alike_stay_two_options(client_of: ClientOf) -> None:
    composed, decomposed = "\u00e9", "e\u0301"
    document = json.loads(SAMPLE_ANSWER)
    document["result"]["option_ids"] = [composed, decomposed]
    client, runtime = client_of(json.dumps(document).encode())

    result = client.score(Decision("support-route", "s", "q", (Option(composed, "a"), Option(decomposed, "b"))))

    assert list(result.probabilities) == [composed, decomposed]
    sent = json.loads(runtime.bodies[0])["decision"]["options"]
    assert [option["id"] for option in sent] == [composed, decomposed]


def test_decisions_over_one_state_go_together_and_come_back_in_order(client_of: ClientOf) -> None:
    client, runtime = client_of(_batch_answer("first", "second"))

    batch = client.score_all([replace(EXAMPLE_DECISION, id="first"), replace(EXAMPLE_DECISION, id="second")])

    assert [decision["id"] for decision in json.loads(runtime.bodies[0])["decisions"]] == ["first", "second"]
    assert [result.id for result in batch.results] == ["first", "second"]
    assert batch.by_id()["second"].choice == "account-access"
    assert (batch.timing.prefix_tokens, batch.timing.total_seconds) == (90, 0.75)


def test_a_body_can_be_sent_and_read_as_it_is(client_of: ClientOf) -> None:
    client, runtime = client_of(b'{"any": "answer"}')

    assert client.ask(b'{"any": "request"}') == b'{"any": "answer"}'
    assert runtime.bodies == [b'{"any": "request"}']
