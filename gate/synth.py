"""Synthesize every environment, as `app.py` does, and let cdk-nag judge it: ``python -m gate.synth FOLDER [--nag]``.

With ``--nag`` the two rule packs look at the tree that was just synthesized, which spares building it once more.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from pathlib import Path

# Before jsii starts, which hands its environment to node. The CDK's own template validator takes three quarters of a
# synth; one test of the app keeps it on.
os.environ["CDK_VALIDATION"] = "false"
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

from aws_cdk import App

from decision_endpoints import InvalidArguments
from stacks.app import add_environments
from stacks.environment import EnvironmentRefused, load_environments

from .acknowledged import SECURITY
from .nag import judge, names_of
from .refused import report

ROOT = Path(__file__).resolve().parents[1]


def new_app(out: Path) -> App:
    """The app with the context of cdk.json, as the CLI starts it, to be synthesized to `out`."""
    shutil.rmtree(out, ignore_errors=True)
    return App(context=json.loads((ROOT / "cdk.json").read_text())["context"], outdir=str(out))


def main(arguments: list[str] | None = None) -> int:
    """Synthesize to the folder that is named."""
    parser = argparse.ArgumentParser(prog="python -m gate.synth", description=__doc__)
    parser.add_argument("out", type=Path, help="where the templates go; what is there goes first")
    parser.add_argument("--nag", action="store_true", help="judge with cdk-nag's AwsSolutions and NIST 800-53 R5")
    options = parser.parse_args(arguments)
    app = new_app(options.out)
    try:
        add_environments(app, root=ROOT)
    except (EnvironmentRefused, InvalidArguments) as refused:
        return report(str(refused).splitlines(), passed="")
    app.synth()
    environments = load_environments(ROOT / "environments", root=ROOT)
    names = ", ".join(environment.name for environment in environments)
    if not options.nag:
        return report((), passed=f"Synthesized {names}.")
    problems = judge(app, SECURITY, {environment.name: names_of(environment) for environment in environments})
    return report(problems, passed=f"Synthesized {names}; cdk-nag finds nothing that is not acknowledged.")


if __name__ == "__main__":
    sys.exit(main())
