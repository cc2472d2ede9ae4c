"""Whoever waits sees that something goes on: a spinner on a terminal, few lines elsewhere."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from local_cloud.demo.progress import step


def test_a_step_says_what_it_does_and_how_long_it_took(console: Console, shown: Callable[[], str]) -> None:
    times = iter([0.0, 12.34])

    with step(console, "Deploying 'local/*' [dev]", clock=lambda: next(times)):
        assert shown() == "Deploying 'local/*' [dev] …\n"

    assert shown().splitlines()[-1] == "✓ Deploying 'local/*' [dev] (12.3 s)"


def test_a_log_file_gets_a_line_of_news_every_other_second(console: Console, shown: Callable[[], str]) -> None:
    now = [0.0]

    with step(console, "Deploying", clock=lambda: now[0]) as on_news:
        for second in range(5):
            now[0] = float(second)
            on_news(f"event {second}")

    assert [line.strip() for line in shown().splitlines()[1:-1]] == ["event 2", "event 4"]


def test_a_terminal_shows_the_latest_news() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100)

    with step(terminal, "Deploying") as on_news:
        on_news("5/9 [AWS::S3::Bucket]")

    assert isinstance(terminal.file, io.StringIO)
    assert "5/9 [AWS::S3::Bucket]" in terminal.file.getvalue()


def test_a_step_that_fails_is_not_ticked_off(console: Console, shown: Callable[[], str]) -> None:
    with pytest.raises(RuntimeError), step(console, "Deploying"):
        raise RuntimeError

    assert "✓" not in shown()
