"""`python -m tests.support.stub_adapter`: the adapter as it is, with a stub in the scorer's place."""

from __future__ import annotations

import os
import time

from decision_adapter import server
from decision_adapter.errors import ModelRefused
from decision_adapter.settings import Settings
from decision_provenance.digest import Digest
from decision_provenance.model_folder import ModelFiles
from tests.support.stub_scorer import StubScorer, obey_state


def load_stub(files: ModelFiles, settings: Settings, digest: Digest) -> StubScorer:
    """Loads for STUB_LOAD_SECONDS; refuses with the text of STUB_REFUSES."""
    time.sleep(float(os.environ.get("STUB_LOAD_SECONDS", "0")))
    refusal = os.environ.get("STUB_REFUSES")
    if refusal:
        raise ModelRefused(refusal)
    return StubScorer(obey_state)


if __name__ == "__main__":
    # A test of the end need not wait as long as SageMaker does.
    server.DRAIN_SECONDS = float(os.environ.get("STUB_DRAIN_SECONDS", server.DRAIN_SECONDS))
    server.run(os.environ, load_stub)
