from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from decision_adapter.wire import Limits, systemone
from tests.bench.workloads import CLIENTS, NEW, REPEATED, SHARED, SHORT, Part, read_tasks, workloads

LIMITS = Limits(max_decisions=64, max_options=26)


def _parts(number: int) -> dict[str, Part]:
    return {part.name: part for workload in workloads(None) for part in workload.parts_of(number)}


def _state(body: bytes) -> Any:
    return json.loads(body)["state"]


def test_a_round_has_the_same_texts_whoever_asks() -> None:
    assert _parts(3) == _parts(3)


def test_no_state_of_one_round_comes_again_in_another() -> None:
    first, second = ({_state(body) for part in _parts(number).values() for body in part.bodies} for number in (0, 1))

    assert not first & second


def test_the_repeated_state_is_that_of_the_new_one_with_other_questions() -> None:
    parts = _parts(0)
    new, repeated = (json.loads(parts[name].bodies[0]) for name in (NEW, REPEATED))

    assert new["state"] == repeated["state"]
    assert new["questions"] != repeated["questions"]


def test_the_workloads_ask_as_many_decisions_as_their_names_say() -> None:
    parts = _parts(0)

    assert {name: parts[name].decisions for name in (NEW, REPEATED, SHARED)} == {NEW: 16, REPEATED: 16, SHARED: 64}


@pytest.mark.parametrize("name", [SHORT, CLIENTS])
def test_no_two_short_requests_are_about_the_same_state(name: str) -> None:
    bodies = _parts(0)[name].bodies

    assert len({_state(body) for body in bodies}) == len(bodies)


def test_every_body_is_a_request_the_adapter_takes() -> None:
    for part in _parts(0).values():
        for body in part.bodies:
            assert systemone.decode(body, LIMITS).request.decisions


def test_tasks_become_one_request_each(tmp_path: Path) -> None:
    question = {"type": "noul", "instructions": "Is it wet?", "criteria": None}
    line = json.dumps({"id": "a", "state": "It rains.", "question": question, "expected": "yes", "labels": []})
    (tmp_path / "easy.jsonl").write_text(f"{line}\n{line}\n")

    assert [json.loads(body)["questions"]["task"] for body in read_tasks(tmp_path)] == [question, question]


def test_a_folder_without_tasks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="holds no tasks"):
        read_tasks(tmp_path)


def test_without_a_folder_the_tasks_are_left_out() -> None:
    assert "tasks" not in [workload.name for workload in workloads(None)]
