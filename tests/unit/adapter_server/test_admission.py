from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from decision_adapter.admission import FIXED_BYTES, Admission, Pace, prompt_bytes
from decision_adapter.decision import Decision, DecisionRequest, Option
from decision_adapter.errors import Busy, RequestRefused

DEADLINE_SECONDS = 50.0


class Clock:
    """Time that passes when a test says so."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def admission(clock: Clock) -> Admission:
    """An engine measured at 100 tokens a second and one token a byte: 1,000 bytes are ten seconds of work."""
    admission = Admission(deadline_seconds=DEADLINE_SECONDS, clock=clock)
    admission.pace.learn(tokens=1000, prompt_bytes=1000, seconds=10)
    return admission


def deadline(clock: Clock) -> float:
    return clock.now + DEADLINE_SECONDS


def test_what_fits_before_its_deadline_gets_a_place(admission: Admission, clock: Clock) -> None:
    for _ in range(5):
        admission.enter(1000, deadline=deadline(clock))

    assert admission.waiting == 5


def test_what_does_not_fit_is_told_at_once_when_to_come_back(admission: Admission, clock: Clock) -> None:
    for _ in range(5):
        admission.enter(1000, deadline=deadline(clock))

    with pytest.raises(Busy) as busy:
        admission.enter(1000, deadline=deadline(clock))

    assert busy.value.retry_after_ms == 10_000
    assert admission.waiting == 5


def test_a_short_request_still_fits_where_a_long_one_does_not(admission: Admission, clock: Clock) -> None:
    for _ in range(4):
        admission.enter(1100, deadline=deadline(clock))

    with pytest.raises(Busy):
        admission.enter(1000, deadline=deadline(clock))
    assert admission.enter(500, deadline=deadline(clock))


def test_time_spent_before_the_place_counts(admission: Admission, clock: Clock) -> None:
    arrived = clock.now
    admission.enter(1000, deadline=deadline(clock))
    clock.now += 45

    with pytest.raises(Busy):
        admission.enter(1000, deadline=arrived + DEADLINE_SECONDS)


def test_a_place_that_is_left_is_free_at_once(admission: Admission, clock: Clock) -> None:
    places = [admission.enter(1000, deadline=deadline(clock)) for _ in range(5)]
    places[2].leave()
    places[2].leave()

    assert admission.enter(1000, deadline=deadline(clock))


def test_the_running_request_counts_with_what_is_left_of_it(admission: Admission, clock: Clock) -> None:
    admission.enter(4500, deadline=deadline(clock)).start(4500)
    with pytest.raises(Busy):
        admission.enter(1000, deadline=deadline(clock))

    clock.now += 6

    assert admission.enter(1000, deadline=deadline(clock))


def test_nobody_is_told_to_wait_longer_than_the_work_that_is_queued(admission: Admission, clock: Clock) -> None:
    admission.enter(1000, deadline=deadline(clock))

    with pytest.raises(Busy) as busy:
        admission.enter(6_000_000, deadline=deadline(clock))

    assert busy.value.retry_after_ms == 10_000


def test_the_tokens_replace_the_estimate_when_the_turn_comes(admission: Admission, clock: Clock) -> None:
    admission.enter(4500, deadline=deadline(clock)).start(500)

    assert admission.enter(4000, deadline=deadline(clock))


def test_what_waited_too_long_is_not_begun(admission: Admission, clock: Clock) -> None:
    first = admission.enter(1000, deadline=deadline(clock))
    second = admission.enter(1000, deadline=deadline(clock))
    first.start(1000)
    clock.now += 45
    first.leave()

    with pytest.raises(Busy) as busy:
        second.start(1000)
    assert busy.value.retry_after_ms == 5000


def test_what_can_never_be_ready_in_time_is_refused_in_words(admission: Admission, clock: Clock) -> None:
    place = admission.enter(11_000, deadline=deadline(clock))

    with pytest.raises(RequestRefused, match=r"11000 tokens, at least 110 s .* limit is 50 s: send fewer decisions"):
        place.start(11_000)


def test_what_a_faster_moment_could_serve_is_tried(admission: Admission, clock: Clock) -> None:
    admission.enter(9000, deadline=deadline(clock)).start(9000)


def test_a_slow_spell_refuses_nothing_for_good(admission: Admission, clock: Clock) -> None:
    for _ in range(20):
        admission.pace.learn(tokens=100, prompt_bytes=100, seconds=100)

    admission.enter(1000, deadline=deadline(clock)).start(1000)


def test_an_engine_that_was_never_measured_tries_what_comes(clock: Clock) -> None:
    admission = Admission(deadline_seconds=DEADLINE_SECONDS, clock=clock)

    admission.enter(10_000_000, deadline=deadline(clock)).start(10_000_000)


def test_the_pace_follows_what_is_measured() -> None:
    pace = Pace()
    for _ in range(30):
        pace.learn(tokens=400, prompt_bytes=1600, seconds=2)

    assert pace.tokens_per_second == pytest.approx(200)
    assert pace.tokens_per_byte == pytest.approx(0.25)


def test_a_tiny_prompt_sets_no_record() -> None:
    pace = Pace()
    pace.learn(tokens=3, prompt_bytes=12, seconds=0.0001)

    assert pace.peak == 0


@given(
    measurements=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 10**7), st.floats(0, 1e4)), max_size=20),
    tokens=st.integers(0, 10**6),
)
def test_an_estimate_is_always_a_finite_time(measurements: list[tuple[int, int, float]], tokens: int) -> None:
    pace = Pace()
    for measured, size, seconds in measurements:
        pace.learn(tokens=measured, prompt_bytes=size, seconds=seconds)

    assert 0 <= pace.seconds_for(tokens) < float("inf")


def test_the_state_counts_once_however_many_decisions_share_it() -> None:
    decisions = tuple(Decision(str(n), "Q?", (Option("a", {"k": ["é", 1]}), Option("b", "x"))) for n in range(3))

    # The state; then three times: question, two ids, and a description of a key, two bytes of é and a number.
    assert prompt_bytes(DecisionRequest("s" * 1000, decisions)) == 4 * FIXED_BYTES + 1000 + 3 * (
        2 + 1 + 1 + 2 + 4 + 1 + 1
    )


def test_every_order_of_the_options_counts_as_far_as_there_are_options() -> None:
    decisions = tuple(
        Decision(str(count), "Q?", tuple(Option(str(n), None) for n in range(count))) for count in (1, 2, 5)
    )
    once = prompt_bytes(DecisionRequest("", decisions)) - FIXED_BYTES
    each = [prompt_bytes(DecisionRequest("", (decision,))) - FIXED_BYTES for decision in decisions]

    assert once == sum(each)
    assert (
        prompt_bytes(DecisionRequest("", decisions, permutations=3))
        == FIXED_BYTES + each[0] + 2 * each[1] + 3 * each[2]
    )
