"""The parts of the gate run side by side and are told in order."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from gate.__main__ import quiet_environment
from gate.parts import Part
from gate.runner import Outcome, run_all


def _part(name: str, code: str, *, after: tuple[str, ...] = (), told: bool = False) -> Part:
    return Part(name, (sys.executable, "-c", code), after=after, told=told)


def _run(*parts: Part) -> tuple[list[Outcome], str]:
    out = io.StringIO()
    return run_all(parts, side_by_side=2, environment={}, out=out), out.getvalue()


def test_a_part_that_fails_is_told_with_what_it_said() -> None:
    outcomes, told = _run(_part("types", "print('error: no'); raise SystemExit(1)"))

    assert outcomes[0].status == 1
    assert "    error: no\n" in told


def test_a_part_that_passes_is_one_line() -> None:
    _, told = _run(_part("types", "print('Success')"))

    assert told.startswith("types")
    assert told.count("\n") == 1


def test_the_markdown_of_a_part_that_passes_is_told() -> None:
    _, told = _run(_part("template diff", "print('No template changes.')", told=True))

    assert "    No template changes.\n" in told


def test_parts_are_told_in_their_order_whichever_ends_first() -> None:
    outcomes, told = _run(_part("second", "", after=("first",)), _part("first", ""))

    assert [outcome.part.name for outcome in outcomes] == ["second", "first"]
    assert told.index("second") < told.index("first")


def test_what_comes_after_a_part_that_failed_is_left_out() -> None:
    outcomes, told = _run(_part("synth", "raise SystemExit(2)"), _part("cfn-lint", "", after=("synth",)))

    assert [outcome.status for outcome in outcomes] == [2, None]
    assert "Left out, because this failed: synth." in told


def test_no_part_sees_credentials_or_accounts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "s", "CDK_DEFAULT_ACCOUNT": "1", "BASE": "main"}

    kept = quiet_environment(given)

    assert kept.keys() == {"PATH", "BASE", "HOME", "AWS_EC2_METADATA_DISABLED"}
