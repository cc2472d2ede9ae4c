"""One stage for each file in environments/. No logic, no credentials, no lookups."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
# For a checkout with only its requirements installed; what is installed goes first.
sys.path += [str(ROOT / source_root) for source_root in ("constructs", "provenance", "client", "adapter_image")]
# Node 20 works; jsii's banner about its age would hide what matters.
os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", "20")

from aws_cdk import App  # noqa: E402

from decision_endpoints import InvalidArguments  # noqa: E402
from stacks.app import add_environments  # noqa: E402
from stacks.environment import EnvironmentRefused  # noqa: E402

app = App()
try:
    add_environments(app, root=ROOT)
except (EnvironmentRefused, InvalidArguments) as refused:
    sys.exit(str(refused))
app.synth()
