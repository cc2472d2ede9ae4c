"""The parts of the gate, in the order in which they are told."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

HEAD = ".cache/gate/head"
AGAIN = ".cache/gate/again"


@dataclass(frozen=True, slots=True)
class Part:
    """One command. It waits for the parts it comes `after`; what it says is shown if it fails, or if `told`."""

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    told: bool = False


def all_parts() -> list[Part]:
    """The whole gate."""
    python = (sys.executable, "-m")
    # The parts run side by side, the longest first: workers of pytest's own would each import the CDK once more.
    pytest = (*python, "pytest", "-q", "-n", "0", "-m", "not integration")
    with_the_cdk = ("tests/unit/constructs", "tests/unit/stacks")
    base = os.environ.get("BASE")
    return [
        Part("format", (*python, "ruff", "format", "--check", ".")),
        Part("lint", (*python, "ruff", "check", ".")),
        Part("synth and cdk-nag", (*python, "gate.synth", HEAD, "--nag"), environment={"PYTHONHASHSEED": "1"}),
        Part("tests of the CDK", (*pytest, *with_the_cdk)),
        Part("other unit tests", (*pytest, "tests/unit", *(f"--ignore={folder}" for folder in with_the_cdk))),
        Part("types", (*python, "gate.types")),
        Part("second synth", (*python, "gate.synth", AGAIN), environment={"PYTHONHASHSEED": "2"}),
        Part("same bytes", (*python, "gate.repeatable", HEAD, AGAIN), after=("synth and cdk-nag", "second synth")),
        Part("no made-up ids", (*python, "gate.placeholders", HEAD), after=("synth and cdk-nag",)),
        Part("cfn-lint", (*python, "gate.lint", HEAD), after=("synth and cdk-nag",)),
        Part(
            "template diff",
            (*python, "gate.template_diff", "--head", HEAD, *(("--base", base) if base else ())),
            after=("synth and cdk-nag",),
            told=True,
        ),
    ]
