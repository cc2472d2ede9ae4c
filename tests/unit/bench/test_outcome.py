from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tests.bench.contestants import OURS, PEER, SAMPLE, Measured
from tests.bench.outcome import Control, Results, judge, tables
from tests.bench.overhead import Overheads
from tests.bench.workloads import NEW, REPEATED

STEADY = (1000.0,) * 5


def _rounds(seconds: Sequence[float], *, evaluated: int = 1000) -> list[Measured]:
    return [Measured(each, (each,), evaluated) for each in seconds]


def _results(
    seconds: Mapping[str, Sequence[float]], *, part: str = NEW, raw: Sequence[float] = STEADY, evaluated: int = 1000
) -> Results:
    return Results(
        measured={part: {name: _rounds(values, evaluated=evaluated) for name, values in seconds.items()}},
        controls={part: [Control(rate, rate / 2, prefix_tokens=800, suffix_tokens=200) for rate in raw]},
        decisions={part: 16},
    )


EVEN = {OURS: (1.0,) * 5, PEER: (1.0,) * 5, SAMPLE: (2.0,) * 5}


def test_being_faster_is_a_ratio_above_one() -> None:
    results = _results(
        {
            OURS: (1.0, 2.0, 1.0, 1.0, 1.0),
            PEER: (2.0, 4.0, 3.0, 2.0, 2.0),
            SAMPLE: (4.0, 8.0, 4.0, 4.0, 4.0),
        }
    )

    assert (results.speed_up(NEW, PEER), results.speed_up(NEW, SAMPLE)) == (2.0, 4.0)


def test_the_share_of_raw_prefill_counts_every_token_that_was_evaluated() -> None:
    results = _results(EVEN, evaluated=900)

    assert results.raw_share(NEW, OURS) == pytest.approx(0.9)


def test_the_engine_alone_pays_for_the_depth_of_a_suffix() -> None:
    assert Control(1000.0, 500.0, 800, 200).least_seconds(repeated=False) == pytest.approx(0.8 + 0.4)


def test_a_repeated_state_need_not_be_evaluated() -> None:
    assert Control(1000.0, 500.0, 800, 200).least_seconds(repeated=True) == pytest.approx(0.4)


def test_a_state_too_short_to_stand_behind_is_judged_by_raw_prefill() -> None:
    assert Control(1000.0, None, 800, 200).least_seconds(repeated=False) == pytest.approx(1.0)


def test_a_control_that_moved_makes_every_verdict_of_its_workload_invalid() -> None:
    targets = judge(_results(EVEN, raw=(1000.0, 1000.0, 1000.0, 1000.0, 1300.0)), None)

    assert {target.verdict for target in targets} == {"INVALID"}


def test_a_repeated_state_must_be_four_times_as_fast_as_the_samples_method() -> None:
    seconds = {OURS: (1.0,) * 5, PEER: (1.0,) * 5, SAMPLE: (3.9,) * 5}
    (found,) = [target for target in judge(_results(seconds, part=REPEATED), None) if SAMPLE in target.name]

    assert (found.bound, found.verdict) == (4.0, "missed")


def test_a_start_is_judged_by_what_it_takes_over_the_models_load() -> None:
    overheads = Overheads(request_p50s_ms=(1.0,) * 5, starts=(1.4, 1.5, 1.5, 1.5, 1.6), loads=(1.0,) * 5)
    verdicts = {target.name: target.verdict for target in judge(Results({}, {}, {}), overheads)}

    assert verdicts == {"overhead of a request, p50": "met", "start to first 200 over model load": "met"}


def test_every_contestant_of_a_workload_has_a_row() -> None:
    lines = tables(_results(EVEN), None)

    assert [line.split("|")[2].strip() for line in lines[2:5]] == [OURS, PEER, SAMPLE]
