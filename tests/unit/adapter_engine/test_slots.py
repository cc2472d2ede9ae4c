"""Letters are proved to be slots, and their logits are read without losing or inventing probability."""

from __future__ import annotations

import math
from array import array
from pathlib import Path

import pytest

from decision_adapter.errors import EngineFailed, ModelRefused, RequestRefused
from decision_adapter.llama import Library, Model
from decision_adapter.slots import LETTERS, Slots, prove_slots, read_slots
from tests.support.tiny_gguf import write_tiny_gguf

INFINITE = math.inf


def test_every_letter_that_is_one_token_is_a_slot(tiny_model: Model) -> None:
    slots = prove_slots(tiny_model.vocab, "<|im_start|>assistant\n")

    assert "".join(slots.letters) == LETTERS
    assert [tiny_model.vocab.text(token) for token in slots.token_ids] == list(LETTERS)


def test_a_letter_that_merges_with_what_precedes_it_is_no_slot(tiny_model: Model) -> None:
    # The vocabulary's only merge is of a blank and an A.
    assert "".join(prove_slots(tiny_model.vocab, "Answer: ").letters) == LETTERS.replace("A", "")


def test_a_model_with_fewer_than_two_slots_is_refused(library: Library, tmp_path: Path) -> None:
    merges = [("Ġ", letter) for letter in LETTERS[:-1]]
    model = Model(library, write_tiny_gguf(tmp_path / "merging.gguf", merges=merges))

    with pytest.raises(ModelRefused, match="only 1 of the letters A to Z are single tokens"):
        prove_slots(model.vocab, "Answer: ")

    model.close()


@pytest.mark.parametrize(("count", "limit", "named"), [(0, 26, 26), (27, 26, 26), (4, 26, 3), (3, 2, 2)])
def test_more_options_than_slots_are_refused_with_question_count_and_limit(count: int, limit: int, named: int) -> None:
    slots = Slots(tuple(LETTERS if named == 26 else "ABC"), tuple(range(26 if named == 26 else 3)))

    with pytest.raises(RequestRefused, match=f"decision 'route' has {count} options, the limit is {named}"):
        slots.first(count, decision_id="route", limit=limit)


def test_as_many_options_as_slots_are_taken() -> None:
    assert Slots(("A", "B"), (7, 9)).first(2, decision_id="d", limit=26) == (7, 9)


def test_probability_outside_the_slots_is_reported_as_missing_mass() -> None:
    logits = array("f", [math.log(share) for share in (0.6, 0.3, 0.1)])

    reading = read_slots(logits, [1, 2])

    assert reading.slot_mass == pytest.approx(0.4)
    assert reading.probabilities == pytest.approx((0.75, 0.25))
    assert reading.argmax_token_id == 0


@pytest.mark.parametrize("shift", [-3e4, -700.0, 0.0, 700.0, 3e4])
def test_a_shift_of_all_logits_changes_nothing(shift: float) -> None:
    logits = array("f", [1.0 + shift, 3.0 + shift, 2.0 + shift, -5.0 + shift])

    reading = read_slots(logits, [0, 1])

    assert reading.probabilities == pytest.approx((1 / (1 + math.exp(2)), 1 / (1 + math.exp(-2))))
    assert math.fsum(reading.probabilities) == pytest.approx(1, abs=1e-12)
    assert 0 < reading.slot_mass < 1


def test_a_slot_far_below_the_others_has_probability_zero() -> None:
    reading = read_slots(array("f", [2000.0, -2000.0]), [0, 1])

    assert reading.probabilities == (1.0, 0.0)


def test_mass_too_small_for_a_double_is_zero() -> None:
    reading = read_slots(array("f", [5000.0, 1.0, 1.0]), [1, 2])

    assert (reading.probabilities, reading.slot_mass) == ((0.5, 0.5), 0.0)


@pytest.mark.parametrize(
    "logits",
    [
        [math.nan, 1.0, 0.0],
        [1.0, math.nan, 0.0],
        [INFINITE, INFINITE, 0.0],
        [-INFINITE, -INFINITE, 0.0],
        [-INFINITE, 1.0, 0.0],
        [1.0, 2.0, math.nan],
        [1.0, 2.0, INFINITE],
    ],
)
def test_logits_that_are_no_numbers_fail(logits: list[float]) -> None:
    with pytest.raises(EngineFailed, match="logits"):
        read_slots(array("f", logits), [0, 1])


def test_a_token_the_model_rules_out_does_not_matter() -> None:
    reading = read_slots(array("f", [1.0, 1.0, -INFINITE]), [0, 1])

    assert reading.slot_mass == pytest.approx(1.0)
