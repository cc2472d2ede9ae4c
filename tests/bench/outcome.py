"""What the rounds say: targets, tables and the raw figures."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from tests.bench.contestants import OURS, PEER, SAMPLE, Measured
from tests.bench.figures import Target, is_valid, percentile, ratio, variation
from tests.bench.overhead import Overheads
from tests.bench.report import table
from tests.bench.workloads import NEW, REPEATED

LEVEL = 1.0
AHEAD = 1.1
AHEAD_ON = 3
SAMPLE_NEW = 1.8
SAMPLE_REPEATED = 4.0
RAW_SHARE = 0.95
MOST_OVERHEAD_MS = 2.0
MOST_START_SECONDS = 0.5


@dataclass(frozen=True)
class Control:
    """Raw prefill in one round: tokens a second of whole prompts, and of suffixes behind a state, if there are any.

    `prefix_tokens` and `suffix_tokens` are those of all bodies: the least that must be evaluated.
    """

    tokens_per_second: float
    behind_per_second: float | None
    prefix_tokens: int
    suffix_tokens: int

    def least_seconds(self, *, repeated: bool) -> float:
        """What the engine alone would take for the same tokens, each where it stands in its prompt."""
        prefix = 0.0 if repeated else self.prefix_tokens / self.tokens_per_second
        return prefix + self.suffix_tokens / (self.behind_per_second or self.tokens_per_second)


@dataclass(frozen=True)
class Results:
    """By part, and then by contestant, one measurement a round; and the controls of the same rounds."""

    measured: Mapping[str, Mapping[str, Sequence[Measured]]]
    controls: Mapping[str, Sequence[Control]]
    decisions: Mapping[str, int]

    def seconds(self, part: str, contestant: str) -> list[float]:
        """Of every round."""
        return [each.seconds for each in self.measured[part][contestant]]

    def speed_up(self, part: str, over: str) -> float:
        """How many times as fast this adapter is as another: the median of the rounds' ratios."""
        return ratio(self.seconds(part, over), self.seconds(part, OURS))

    def raw_rates(self, part: str) -> list[float]:
        """The control of every round, tokens a second."""
        return [each.tokens_per_second for each in self.controls[part]]

    def valid(self, part: str) -> bool:
        """Whether the machine held still."""
        return is_valid(self.raw_rates(part))

    def raw_share(self, part: str, contestant: str) -> float:
        """Tokens evaluated a second over those of raw prefill."""
        rates = [each.evaluated / each.seconds for each in self.measured[part][contestant]]
        return ratio(rates, self.raw_rates(part))

    def depth_share(self, part: str, contestant: str) -> float:
        """The least time the engine alone takes for the tokens that are needed, over the time that was taken."""
        least = [each.least_seconds(repeated=part == REPEATED) for each in self.controls[part]]
        return ratio(least, self.seconds(part, contestant))

    def as_json(self, overheads: Overheads | None) -> dict[str, Any]:
        """Every measurement."""
        return {
            "decisions": dict(self.decisions),
            "measured": {
                part: {name: [asdict(each) for each in rounds] for name, rounds in by_name.items()}
                for part, by_name in self.measured.items()
            },
            "controls": {part: [asdict(each) for each in rounds] for part, rounds in self.controls.items()},
            "overheads": asdict(overheads) if overheads else None,
        }


def judge(results: Results, overheads: Overheads | None) -> list[Target]:
    """What was wanted of this run, as far as it measured it."""
    parts = list(results.measured)
    targets = [
        Target(f"over {PEER}: {part}", results.speed_up(part, PEER), LEVEL, True, results.valid(part), "×")
        for part in parts
    ]
    if len(parts) >= AHEAD_ON:
        ahead = sum(target.value >= AHEAD for target in targets)
        all_valid = all(target.valid for target in targets)
        targets.append(Target(f"workloads ≥ {AHEAD}× over {PEER}", ahead, AHEAD_ON, True, all_valid))
    for part, bound in ((NEW, SAMPLE_NEW), (REPEATED, SAMPLE_REPEATED)):
        if part in parts:
            speed_up = results.speed_up(part, SAMPLE)
            targets.append(Target(f"over {SAMPLE}: {part}", speed_up, bound, True, results.valid(part), "×"))
    if NEW in parts:
        share = results.raw_share(NEW, OURS)
        targets.append(Target(f"share of raw prefill: {NEW}", share, RAW_SHARE, True, results.valid(NEW)))
    if overheads:
        targets += [
            Target(
                "overhead of a request, p50", overheads.p50_ms, MOST_OVERHEAD_MS, False, overheads.requests_valid, " ms"
            ),
            Target(
                "start to first 200 over model load",
                overheads.start_seconds,
                MOST_START_SECONDS,
                False,
                overheads.starts_valid,
                " s",
            ),
        ]
    return targets


def tables(results: Results, overheads: Overheads | None) -> list[str]:
    """One row for each contestant of each workload, then the controls."""
    lines: list[str] = []
    if results.measured:
        head = [
            "workload",
            "by",
            "decisions/s",
            "p50 s",
            "p95 s",
            "p99 s",
            "tokens evaluated",
            "of raw prefill",
            "of the engine alone",
            "this adapter is",
        ]
        lines += [
            *table(head, list(_rows(results))),
            "",
            *table(
                ["control: raw prefill", "tokens/s", "behind the state", "variation", ""], list(_control_rows(results))
            ),
        ]
    if overheads:
        lines += ["", *table(["beside the model", "median", "control's variation"], overheads.rows())]
    return lines


def _rows(results: Results) -> Iterator[list[str]]:
    for part, by_name in results.measured.items():
        for name, rounds in by_name.items():
            latencies = [latency for each in rounds for latency in each.latencies]
            yield [
                part if name == OURS else "",
                name,
                f"{results.decisions[part] / statistics.median(results.seconds(part, name)):.2f}",
                *(f"{percentile(latencies, percent):.3f}" for percent in (50, 95, 99)),
                f"{statistics.median(each.evaluated for each in rounds):.0f}",
                f"{results.raw_share(part, name):.2f}",
                f"{results.depth_share(part, name):.2f}",
                "" if name == OURS else f"{results.speed_up(part, name):.2f}×",
            ]


def _control_rows(results: Results) -> Iterator[list[str]]:
    for part, controls in results.controls.items():
        rates = results.raw_rates(part)
        behind = [each.behind_per_second for each in controls if each.behind_per_second]
        yield [
            part,
            f"{statistics.median(rates):.0f}",
            f"{statistics.median(behind):.0f}" if behind else "–",
            f"{variation(rates):.0%}",
            "" if results.valid(part) else "INVALID",
        ]
