"""A CDK app of empty stacks, two to a stage as ours has them: ``python -m tests.bench.empty_app STACKS``."""

from __future__ import annotations

import sys

from aws_cdk import App, Environment, Stack, Stage


def main(stacks: int) -> None:
    """Synthesize so many; one alone, as `cdk init` writes an app, has no stage."""
    app = App()
    if stacks == 1:
        Stack(app, "Stack")
    else:
        for first in range(0, stacks, 2):
            stage = Stage(app, f"stage{first}", env=Environment(region="us-east-1"))
            for number in range(first, min(first + 2, stacks)):
                Stack(stage, f"Stack{number}")
    app.synth()


if __name__ == "__main__":
    main(int(sys.argv[1]))
