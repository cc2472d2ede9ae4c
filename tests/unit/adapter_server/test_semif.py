from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decision_adapter.decision import ScoredRequest
from decision_adapter.errors import RequestRefused
from decision_adapter.wire import Limits, Timing, semif, strict_json
from tests.support.semif_requests import decision, lettered, single, with_json
from tests.support.stub_scorer import IDENTITY, StubScorer

LIMITS = Limits(max_decisions=64, max_options=26)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def decode(request: Any) -> semif.SemifRequest:
    return semif.decode(json.dumps(request).encode(), LIMITS)


def refusal(body: bytes) -> str:
    with pytest.raises(RequestRefused) as refused:
        semif.decode(body, LIMITS)
    return str(refused.value)


def refusal_of(request: Any) -> str:
    return refusal(json.dumps(request).encode())


@given(
    state=st.one_of(
        st.text(min_size=1), st.lists(json_values, min_size=1), st.dictionaries(st.text(), json_values, min_size=1)
    )
)
def test_any_json_state_is_read_as_it_was_written(state: Any) -> None:
    assert repr(decode(single(state)).request.state) == repr(json.loads(json.dumps(state)))


@given(ids=st.lists(st.text(min_size=1), min_size=2, max_size=26, unique=True))
def test_options_keep_their_order_and_their_ids_byte_for_byte(ids: list[str]) -> None:
    options = decode(single(options=tuple((name, "x") for name in ids))).request.decisions[0].options

    assert [option.id for option in options] == ids


def test_one_letter_in_two_spellings_of_unicode_is_two_options() -> None:
    options = decode(single(options=(("\u00e9", "one"), ("e\u0301", "two")))).request.decisions[0].options

    assert [option.id for option in options] == ["\u00e9", "e\u0301"]


@pytest.mark.parametrize("description", ["text", {"k": ["v", None]}, ["v", 1]])
def test_a_description_is_text_an_object_or_an_array(description: Any) -> None:
    options = decode(single(options=(("a", description), ("b", "x")))).request.decisions[0].options

    assert options[0].description == description


@pytest.mark.parametrize("description", [None, "", {}, [], 3, True])
def test_any_other_description_is_refused(description: Any) -> None:
    assert "description" in refusal_of(single(options=(("a", description), ("b", "x"))))


@pytest.mark.parametrize("state", [None, "", {}, [], 3, 2.5, False])
def test_an_empty_or_scalar_state_is_refused(state: Any) -> None:
    assert "non-empty string, object or array" in refusal_of(single(state))


@pytest.mark.parametrize("count", [2, 16, 26])
def test_up_to_26_options_are_read(count: int) -> None:
    assert len(decode(single(options=lettered(count))).request.decisions[0].options) == count


@pytest.mark.parametrize("count", [0, 1, 27, 52, 53, 255, 256])
def test_another_number_of_options_is_refused_by_question_count_and_limit(count: int) -> None:
    text = refusal_of(single(options=lettered(count), id="route", question="Which queue?"))

    assert "'route' ('Which queue?')" in text
    assert f"has {count} option" in text
    assert "from 2 to 26" in text


@pytest.mark.parametrize("field", ["id", "question"])
def test_an_empty_id_or_question_is_refused_with_its_place(field: str) -> None:
    request = {"decision": decision() | {field: ""}}

    assert f"$.decision.{field}" in refusal_of(request)


@pytest.mark.parametrize("field", ["id", "state", "question", "options"])
def test_a_missing_field_is_refused_by_name(field: str) -> None:
    request = decision()
    del request[field]

    assert f"`{field}`" in refusal_of({"decision": request})


def test_an_option_id_given_twice_is_refused() -> None:
    assert "two options with the id 'a'" in refusal_of(single(options=(("a", "x"), ("a", "y"))))


def test_a_decision_id_given_twice_is_refused() -> None:
    assert "two decisions have the id 'd'" in refusal_of({"decisions": [decision(id="d"), decision(id="d")]})


@pytest.mark.parametrize("request_", [{}, {"decision": decision(), "decisions": [decision()]}])
def test_exactly_one_of_decision_and_decisions_is_allowed(request_: Any) -> None:
    assert "give exactly one of them" in refusal_of(request_)


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b'"x"', b"{", b'{"decision": null}', b'{"decision": {}} x', b"\xff"]
)
def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    assert refusal(body)


def test_no_decisions_are_refused() -> None:
    assert "empty" in refusal_of({"decisions": []})


def test_64_decisions_are_read_and_65_refused_with_both_numbers() -> None:
    decisions = [decision(id=str(n)) for n in range(65)]

    assert len(decode({"decisions": decisions[:64]}).request.decisions) == 64
    assert "65 entries, the limit is 64" in refusal_of({"decisions": decisions})


@pytest.mark.parametrize(
    ("one", "other"), [([1], [True]), ([1], [1.0]), ([0], [False]), ([None], [0]), (["1"], [1]), ([1], [1, 1])]
)
def test_states_that_differ_only_in_type_are_two_states(one: Any, other: Any) -> None:
    request = {"decisions": [decision(one, id="a"), decision(other, id="b")]}

    assert "'b' has another state than decision 'a'" in refusal_of(request)


@pytest.mark.parametrize(("one", "other"), [(b'{"a": 1, "b": 2}', b'{"b":2,"a":1}'), (b'"\\u00e9"', '"é"'.encode())])
def test_one_state_in_two_spellings_is_one_state(one: bytes, other: bytes) -> None:
    decisions = [json.dumps(decision("STATE", id=name)).encode() for name in "ab"]
    body = b'{"decisions": [%s, %s]}' % (decisions[0].replace(b'"STATE"', one), decisions[1].replace(b'"STATE"', other))

    assert len(semif.decode(body, LIMITS).request.decisions) == 2


@pytest.mark.parametrize(
    "body",
    [
        b'{"state": ' + b"[" * 5000,
        b'{"decision": ' + b"[" * 5000,
        with_json(b"[" * 5000),
        with_json(b"[" * 5000 + b"]" * 5000),
        with_json(b'{"a":' * 5000 + b"1" + b"}" * 5000),
        with_json(b"[" * 101 + b"1" + b"]" * 101),
        b"[" * 6_000_000,
    ],
    ids=["unknown field", "decision", "open state", "arrays", "objects", "one over the limit", "six megabytes"],
)
def test_bottomless_nesting_is_refused_within_a_second(body: bytes) -> None:
    began = time.thread_time()  # of this thread alone: how busy the machine is does not count

    refusal(body)

    assert time.thread_time() - began < 1


@pytest.mark.parametrize("field", ["state", "description"])
def test_nesting_up_to_the_limit_is_read_and_one_level_more_refused(field: str) -> None:
    depth = strict_json.MAX_DEPTH

    assert semif.decode(with_json(b"[" * depth + b"]" * depth, field=field), LIMITS)
    assert "nests too deep" in refusal(with_json(b"[" * (depth + 1) + b"]" * (depth + 1), field=field))


@pytest.mark.parametrize(
    "state",
    [
        b"9" * 5000,
        b"[" + b"9" * 5000 + b"]",
        b"NaN",
        b"[NaN]",
        b"[Infinity]",
        b"[-Infinity]",
        b"[1e999]",
        b'"\\ud83d"',
        b'"\\ud83d and more text"',
        b'["\\ude00\\ud83d"]',
    ],
)
def test_what_json_does_not_have_is_refused(state: bytes) -> None:
    assert refusal(with_json(state))


@pytest.mark.parametrize(
    "body",
    [
        with_json(b'{"a": "x", "a": "y"}'),
        with_json(b'[{"deep": {"\\u0061": 1, "a": 2}}]'),
        json.dumps(single()).encode().replace(b'"question"', b'"id": "other", "question"'),
        b'{"decision": 1, "decision": ' + json.dumps(decision()).encode() + b"}",
    ],
)
def test_a_key_given_twice_in_one_object_is_refused(body: bytes) -> None:
    text = refusal(body)

    assert "twice" in text or "wrong shape" in text


def test_the_answer_has_exactly_the_documented_fields() -> None:
    asked = decode(single())
    answer = json.loads(
        asked.encode(StubScorer().score(asked.request), IDENTITY, Timing(queue_seconds=0.5, total_seconds=1.5))
    )

    assert set(answer) == {"result", "x_provenance"}
    assert set(answer["result"]) == {
        "id", "option_ids", "probabilities", "option_logits", "answer_token_ids", "input_tokens", "allowed_token_mass",
        "full_vocab_argmax_id", "prompt_sha256", "prompt_version", "model", "readout", "probability_status",
        "forward_seconds", "total_seconds",
    }  # fmt: skip
    assert {"file", "bytes", "sha256", "threads", "context_tokens", "versions"} <= set(answer["result"]["model"])
    assert "conditional" in answer["result"]["probability_status"]
    assert "uncalibrated" in answer["result"]["probability_status"]


def test_a_list_of_decisions_is_answered_in_its_order_with_its_timing() -> None:
    asked = decode({"decisions": [decision(id=name) for name in "zam"]})
    answer = json.loads(
        asked.encode(StubScorer().score(asked.request), IDENTITY, Timing(queue_seconds=0.5, total_seconds=1.5))
    )

    assert set(answer) == {"results", "timing", "x_provenance"}
    assert [result["id"] for result in answer["results"]] == ["z", "a", "m"]
    assert answer["timing"] == {
        "batch_size": 3,
        "prefix_tokens": 64,
        "prefill_seconds": 0.001,
        "suffix_forward_seconds": 0.001,
        "total_seconds": 1.5,
    }


def test_mass_outside_the_options_is_told() -> None:
    asked = decode(single())
    scored = StubScorer().score(asked.request)
    lost = ScoredRequest((replace(scored.scores[0], slot_mass=0.4),), 64, 0, 0.0, 0.0)

    answer = json.loads(asked.encode(lost, IDENTITY, Timing(queue_seconds=0.5, total_seconds=0.0)))

    assert answer["result"]["allowed_token_mass"] == 0.4


@given(probability=st.floats(0, 1))
def test_floats_are_not_rounded(probability: float) -> None:
    asked = decode(single())
    scored = StubScorer(lambda _: (probability, 1 - probability)).score(asked.request)
    answer = json.loads(asked.encode(scored, IDENTITY, Timing(queue_seconds=0.5, total_seconds=0.0)))

    assert math.isclose(answer["result"]["probabilities"][0], probability, rel_tol=0, abs_tol=0)
