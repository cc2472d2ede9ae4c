"""`make bench-synth`: how long the synth of all environments takes for each stack, against an empty CDK app.

Three apps are synthesized in turn, as the CLI does it, with ``CDK_VALIDATION=false`` and the context of cdk.json:

- **ours**: `app.py`, all environments;
- **empty**: one empty stack, the app that `cdk init` writes;
- **floor**: as many empty stacks as ours, in stages: what Python, node and the CDK take before anything is in a stack.

The time per stack is an app's whole time, from the start of the process to its end, over its number of stacks. The
target compares ours with the empty app: a developer who waits for one pays the start of three runtimes for one stack,
for ours for all. The floor is told beside it, for it shows what the resources themselves cost.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.bench import report
from tests.bench.figures import Target, failures, is_valid, ratio, variation
from tests.bench.surroundings import REPOSITORY, load_average, node_version, surroundings

MOST_RATIO = 1.5

OURS = ("app.py",)
EMPTY = ("-m", "tests.bench.empty_app", "1")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; 1 if the target was missed in a run that can be believed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.synth", description="Time the synth per stack.")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        out = Path(folder)
        # Once each, unmeasured: byte code, jsii's unpacked packages, the files in the page cache.
        _seconds(EMPTY, out / "warm-empty")
        _seconds(OURS, out / "warm-ours")
        stacks, resources = _counted(out / "warm-ours")
        floor = ("-m", "tests.bench.empty_app", str(stacks))
        _seconds(floor, out / "warm-floor")
        apps = {"empty": EMPTY, "ours": OURS, "floor": floor}
        seconds: dict[str, list[float]] = {name: [] for name in apps}
        for number in range(options.rounds):
            # The empty app goes first and last in turn, so that what grows or fades during a round hits both.
            for name in list(apps)[:: -1 if number % 2 else 1]:
                seconds[name].append(_seconds(apps[name], out / f"{name}-{number}"))
                print(f"round {number + 1}: {name} {seconds[name][-1]:.2f} s", flush=True)
    target, body = judge(seconds, stacks=stacks, resources=resources)
    facts = surroundings("aws-cdk-lib", "jsii", node=node_version(), load=load_average(), rounds=str(options.rounds))
    written = report.write("synth", "Synth of all environments", facts, body, seconds)
    print("\n".join(body), f"\nWritten to {written.relative_to(REPOSITORY)}.", sep="\n")
    return failures([target])


def judge(seconds: dict[str, list[float]], *, stacks: int, resources: int) -> tuple[Target, list[str]]:
    """The target, and the report's body, from the whole times of the rounds."""
    ours = [value / stacks for value in seconds["ours"]]
    target = Target(
        "ours ÷ empty app, time per stack",
        ratio(ours, seconds["empty"]),
        MOST_RATIO,
        at_least=False,
        valid=is_valid(seconds["empty"]),
        unit="×",
    )
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    rows = [
        [f"all environments, {stacks} stacks, {resources} resources", *_times(medians["ours"], stacks)],
        ["empty app, 1 stack", *_times(medians["empty"], 1)],
        [f"floor, {stacks} empty stacks in stages", *_times(medians["floor"], stacks)],
    ]
    own = (medians["ours"] - medians["floor"]) / resources
    return target, [
        report.headline([target]),
        "",
        *report.target_table([target]),
        "",
        *report.table(["app", "median s", "s per stack"], rows),
        "",
        f"Over the floor, our own resources take {own * 1000:.0f} ms each. The control, the empty app, varied by "
        f"{variation(seconds['empty']):.0%}. What the figures mean: docs/benchmarks.md.",
    ]


def _times(seconds: float, stacks: int) -> list[str]:
    return [f"{seconds:.2f}", f"{seconds / stacks:.3f}"]


def _seconds(app: Sequence[str], out: Path) -> float:
    context = json.loads((REPOSITORY / "cdk.json").read_text(encoding="utf-8"))["context"]
    environment = {
        **os.environ,
        "CDK_OUTDIR": str(out),
        "CDK_CONTEXT_JSON": json.dumps(context),
        "CDK_VALIDATION": "false",
        "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
    }
    started = time.perf_counter()
    subprocess.run([sys.executable, *app], cwd=REPOSITORY, env=environment, check=True)
    return time.perf_counter() - started


def _counted(out: Path) -> tuple[int, int]:
    """How many stacks an assembly has, and how many resources they have together."""
    templates = [json.loads(file.read_text(encoding="utf-8")) for file in out.rglob("*.template.json")]
    return len(templates), sum(len(template.get("Resources", {})) for template in templates)


if __name__ == "__main__":
    sys.exit(main())
