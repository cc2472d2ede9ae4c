"""Letters are proved to be slots, and their logits are read without losing or inventing probability."""

from __future__ import annotations

import math
from array import array
from pathlib import Path

import pytest

from decision_adapter.errors import EngineFailed, ModelRefused, TooManyOptions
from decision_adapter.llama import Library, Model
from decision_adapter.slots import CODES, LETTERS, Slot, Slots, prove_slots, read_slots
from tests.support.tiny_gguf import write_tiny_gguf

INFINITE = math.inf


def test_every_letter_that_is_one_token_is_a_slot(tiny_model: Model) -> None:
    slots = prove_slots(tiny_model.vocab, "<|im_start|>assistant\n")

    assert [slot.text for slot in slots.letters] == list(LETTERS)
    assert [tiny_model.vocab.text(slot.token_id) for slot in slots.letters] == list(LETTERS)


def test_a_letter_that_merges_with_what_precedes_it_is_no_slot(tiny_model: Model) -> None:
    # The vocabulary's only merge is of a blank and an A.
    assert [slot.text for slot in prove_slots(tiny_model.vocab, "Answer: ").letters] == list(LETTERS[1:])


def test_a_model_with_fewer_than_two_slots_is_refused(library: Library, tmp_path: Path) -> None:
    merges = [("Ġ", letter) for letter in LETTERS[:-1]]
    model = Model(library, write_tiny_gguf(tmp_path / "merging.gguf", merges=merges))

    with pytest.raises(ModelRefused, match="only 1 of the letters A to Z are single tokens"):
        prove_slots(model.vocab, "Answer: ")

    model.close()


def slots_of(letters: int, codes: int = 0) -> Slots:
    named = [Slot(text, number) for number, text in enumerate((*LETTERS[:letters], *CODES[:codes]))]
    return Slots(tuple(named[:letters]), tuple(named[letters:]))


def named(slots: Slots, count: int, limit: int = 255) -> list[str]:
    return [slot.text for slot in slots.first(count, decision_id="route", limit=limit)]


@pytest.mark.parametrize(
    ("slots", "count", "limit", "most"),
    [
        (slots_of(26), 0, 255, 26),
        (slots_of(26), 27, 255, 26),
        (slots_of(3), 4, 255, 3),
        (slots_of(3), 3, 2, 2),
        (slots_of(26, 50), 77, 255, 76),
        (slots_of(26, 400), 256, 255, 255),
    ],
)
def test_more_options_than_slots_are_refused_with_question_count_and_limit(
    slots: Slots, count: int, limit: int, most: int
) -> None:
    with pytest.raises(TooManyOptions, match=f"decision 'route' has {count} options, the limit is {most}"):
        slots.first(count, decision_id="route", limit=limit)


def test_up_to_26_options_are_called_by_letters() -> None:
    assert named(slots_of(26, 400), 26) == list(LETTERS)


def test_more_options_are_all_called_by_codes_so_that_none_has_the_better_name() -> None:
    assert named(slots_of(26, 400), 27) == list(CODES[:27])
    assert named(slots_of(26, 400), 255) == list(CODES[:255])


def test_letters_and_codes_are_mixed_only_where_codes_alone_are_too_few() -> None:
    assert named(slots_of(26, 30), 31) == [*LETTERS, *CODES[:5]]


def test_a_code_is_a_slot_only_if_it_is_one_token_of_its_own(library: Library, tmp_path: Path) -> None:
    # "AB" and "ZZ" are tokens of this vocabulary, every other pair of letters is two.
    model = Model(library, write_tiny_gguf(tmp_path / "codes.gguf", merges=[("A", "B"), ("Z", "Z")]))

    slots = prove_slots(model.vocab, "<|im_start|>assistant\n")

    assert [slot.text for slot in slots.codes] == ["AB", "ZZ"]
    assert [model.vocab.text(slot.token_id) for slot in slots.codes] == ["AB", "ZZ"]
    assert len(slots.letters) == 26
    model.close()


@pytest.mark.parametrize(
    ("merges", "tail"), [([("N", "A"), ("A", "B")], "N"), ([("A", "B"), ("Ġ", "AB")], " ")], ids=["first", "whole"]
)
def test_a_code_that_merges_with_what_precedes_it_is_no_slot(
    library: Library, tmp_path: Path, merges: list[tuple[str, str]], tail: str
) -> None:
    model = Model(library, write_tiny_gguf(tmp_path / "merging.gguf", merges=merges))

    assert "AB" not in [slot.text for slot in prove_slots(model.vocab, tail).codes]
    model.close()


@pytest.mark.smollm2
def test_a_real_vocabulary_has_more_slots_than_a_question_may_have_options(
    library: Library, smollm2_path: Path
) -> None:
    model = Model(library, smollm2_path)

    slots = prove_slots(model.vocab, "<|im_start|>assistant\n")

    assert (len(slots.letters), len(slots.codes)) == (26, 377)
    assert len({slot.token_id for slot in (*slots.letters, *slots.codes)}) == 403
    model.close()


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


def test_a_temperature_draws_probabilities_together_and_leaves_the_mass_as_it_was() -> None:
    logits = array("f", [math.log(share) for share in (0.6, 0.3, 0.1)])

    plain, warm = read_slots(logits, [1, 2]), read_slots(logits, [1, 2], temperature=2.0)

    assert warm.probabilities[0] / warm.probabilities[1] == pytest.approx(math.sqrt(3))
    assert (warm.slot_mass, warm.logits) == (plain.slot_mass, plain.logits)


@pytest.mark.parametrize(("temperature", "expected"), [(1e-300, (1.0, 0.0)), (1e300, (0.5, 0.5))])
def test_no_temperature_makes_a_probability_that_is_no_number(
    temperature: float, expected: tuple[float, float]
) -> None:
    assert read_slots(array("f", [3.0, -4.0]), [0, 1], temperature=temperature).probabilities == expected
