"""`python -m tests.support.patient_adapter`: the adapter as it is, but for a deadline that a busy machine can keep.

SageMaker ends an invocation after 60 s, so the setting ends there too; 255 options take longer where tests run beside
each other.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace

from decision_adapter import server
from decision_adapter.scorer import load_scorer
from decision_adapter.settings import Settings

DEADLINE_SECONDS = 600


class _PatientSettings(Settings):
    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Settings:
        return replace(Settings.from_environment(environment), deadline_seconds=DEADLINE_SECONDS)


if __name__ == "__main__":
    # The name that run() reads it by.
    vars(server)["Settings"] = _PatientSettings
    server.run(os.environ, load_scorer)
