"""`DecisionClient` against a running adapter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from decision_client import Answers, DecisionClient, EndpointUnavailable, RequestRefused
from decision_client.examples import EXAMPLE_DECISION, EXAMPLE_QUESTIONS, EXAMPLE_STATE
from tests.support.adapter_process import STUB_ADAPTER, AdapterProcess


@pytest.fixture
def asking(adapter: AdapterProcess) -> Iterator[DecisionClient]:
    with DecisionClient.from_url(adapter.url) as client:
        yield client


def test_a_decision_has_an_answer_with_its_provenance(asking: DecisionClient) -> None:
    result = asking.score(EXAMPLE_DECISION)

    assert sum(result.probabilities.values()) == pytest.approx(1)
    assert result.provenance is not None
    assert result.provenance.answers["support-route"].slot_mass == result.slot_mass


def test_decisions_over_one_state_come_back_in_order(asking: DecisionClient) -> None:
    batch = asking.score_all([replace(EXAMPLE_DECISION, id=each) for each in ("first", "second")])

    assert list(batch.by_id()) == ["first", "second"]
    assert batch.timing.batch_size == 2


@pytest.mark.parametrize("permutations", [1, 2])
def test_questions_of_each_kind_have_answers_of_their_kind(asking: DecisionClient, permutations: int) -> None:
    answers = asking.decide(EXAMPLE_STATE, EXAMPLE_QUESTIONS, permutations=permutations)

    assert 0 <= answers.noul("refund").noul <= 1
    assert list(answers.choice("team").probabilities) == ["billing", "other"]
    assert answers.score("anger").legend == ("Calm", "Annoyed", "Angry")
    assert answers.provenance is not None
    assert answers.provenance.answers["team"].permutations == permutations


def test_a_refusal_is_the_adapters_own_sentence(asking: DecisionClient) -> None:
    with pytest.raises(RequestRefused, match=r"'support-route' .* has 1 option: from 2 to 26 are allowed") as caught:
        asking.score(replace(EXAMPLE_DECISION, options=EXAMPLE_DECISION.options[:1]))

    assert caught.value.status == 400


def test_awaited_calls_at_once_each_have_their_own_answer(asking: DecisionClient) -> None:
    async def ask() -> list[Answers]:
        return await asyncio.gather(
            *(asking.adecide(f"Case {number}.", {f"case {number}": EXAMPLE_QUESTIONS["team"]}) for number in range(40))
        )

    answers = asyncio.run(ask())

    assert [list(each) for each in answers] == [[f"case {number}"] for number in range(40)]


def test_a_key_lets_in_and_another_does_not(environment: dict[str, str]) -> None:
    with AdapterProcess({**environment, "DECISION_API_KEY": "s3cret"}, command=STUB_ADAPTER) as process:
        url = process.ready().url
        with DecisionClient.from_url(url, key="s3cret") as client:
            assert client.score(EXAMPLE_DECISION).choice in ("account-access", "billing")
        with (
            DecisionClient.from_url(url, key="wrong") as client,
            pytest.raises(EndpointUnavailable, match="not the one of this server"),
        ):
            client.score(EXAMPLE_DECISION)
