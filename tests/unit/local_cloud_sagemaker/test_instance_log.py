"""The reason of a failure is for the person who must act: what the container said comes first, and it always fits."""

from __future__ import annotations

from pathlib import Path

import pytest

from local_cloud.sagemaker.instance_log import REASON_LIMIT, InstanceLog


@pytest.fixture
def log(tmp_path: Path) -> InstanceLog:
    return InstanceLog(tmp_path, "endpoint", "main", "i-1")


def test_a_reason_in_the_log_comes_before_what_happened(log: InstanceLog) -> None:
    log.append("loading")
    log.append('{"event": "model_refused", "reason": "Two models lie here."}')

    assert log.explain("It exited with code 3.") == (
        "Two models lie here. It exited with code 3. Last log lines: loading"
    )


def test_lines_that_refuse_no_model_are_only_lines(log: InstanceLog) -> None:
    for line in ("{", '{"event": "model_refused", "reason": 7}', '{"event": "internal_error", "reason": "x"}', "[1]"):
        log.append(line)
    log.append("{" * 5000)

    assert log.refusal is None


def test_a_long_log_is_cut_at_its_old_end(log: InstanceLog) -> None:
    log.append("x" * 3000 + "the end")

    reason = log.explain("It exited.")

    assert len(reason) == REASON_LIMIT
    assert reason.startswith("It exited. Last log lines: …x")
    assert reason.endswith("the end")


def test_a_long_refusal_is_kept_from_its_start(log: InstanceLog) -> None:
    log.append('{"event": "model_refused", "reason": "' + "r" * 2000 + '"}')
    log.append("line")

    assert log.explain("It exited.") == "r" * REASON_LIMIT
