"""Run the parts side by side and tell them in order."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import TextIO

from .parts import Part


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a part; `cpu` is seconds of all cores. Without a status it was left out, and `output` says why."""

    part: Part
    status: int | None
    output: str
    seconds: float = 0.0
    cpu: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether it ran and found nothing."""
        return self.status == 0


def run_all(parts: Sequence[Part], *, side_by_side: int, environment: Mapping[str, str], out: TextIO) -> list[Outcome]:
    """Run every part, so many at once, each when those it comes after have passed."""
    outcomes: dict[str, Outcome] = {}
    running: dict[Future[Outcome], Part] = {}
    told = 0
    with ThreadPoolExecutor(side_by_side) as pool:
        while len(outcomes) < len(parts):
            for part in parts:
                if part.name in outcomes or part in running.values():
                    continue
                if failed := [name for name in part.after if name in outcomes and not outcomes[name].passed]:
                    outcomes[part.name] = Outcome(part, None, f"Left out, because this failed: {failed[0]}.\n")
                elif len(running) < side_by_side and all(name in outcomes for name in part.after):
                    running[pool.submit(_run, part, environment)] = part
            done, _ = wait(running, return_when=FIRST_COMPLETED) if running else (set(), set())
            for future in done:
                outcomes[running.pop(future).name] = future.result()
            while told < len(parts) and parts[told].name in outcomes:
                _tell(outcomes[parts[told].name], out)
                told += 1
    return [outcomes[part.name] for part in parts]


def _run(part: Part, environment: Mapping[str, str]) -> Outcome:
    started = time.monotonic()
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        process = subprocess.Popen(
            part.command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=dict(environment) | dict(part.environment),
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    seconds = time.monotonic() - started
    return Outcome(part, process.returncode, text, seconds, usage.ru_utime + usage.ru_stime)


def _tell(outcome: Outcome, out: TextIO) -> None:
    word = {None: "left out", 0: "ok"}.get(outcome.status, "FAILED")
    out.write(f"{outcome.part.name:18} {word:8} {outcome.seconds:6.1f} s {outcome.cpu:6.1f} CPU s\n")
    if not outcome.passed or outcome.part.told:
        out.writelines(f"    {line}\n".rstrip(" ") for line in outcome.output.rstrip().splitlines())
    out.flush()
