"""`python -m decision_adapter`: read the environment, load the model, serve until SIGTERM."""

from __future__ import annotations

import os
import sys

from decision_adapter.scorer import load_scorer
from decision_adapter.server import run

if __name__ == "__main__":
    run(os.environ, load_scorer)
    sys.exit("run() ends the process")
