"""What the API shows of a build. Each change is published as one new snapshot, so that no reader sees half of it."""

from __future__ import annotations

import copy
import time

from ministack.services import codebuild as store  # type: ignore[import-untyped]

from local_cloud.aws_model import JsonObject


class BuildRecord:
    """A build in the emulator's store, changed only here while it runs."""

    def __init__(self, content: JsonObject) -> None:
        self._content = content
        store._builds[content["id"]] = self.snapshot()

    @property
    def build_id(self) -> str:
        """As `project:uuid`."""
        return str(self._content["id"])

    def snapshot(self) -> JsonObject:
        """The build as of now; it does not change with the build."""
        return copy.deepcopy(self._content)

    def begin_phase(self, phase: str) -> None:
        """Enter a phase."""
        self._content["phases"].append({"phaseType": phase, "startTime": time.time()})
        self._content["currentPhase"] = phase
        self._publish()

    def end_phase(self, status: str, code: str = "", message: str = "") -> None:
        """Leave the phase that was begun last."""
        phase = self._content["phases"][-1]
        now = time.time()
        phase.update(
            phaseStatus=status,
            endTime=now,
            durationInSeconds=int(now - phase["startTime"]),
            contexts=[{"statusCode": code, "message": message}],
        )
        self._publish()

    def set(self, **members: object) -> None:
        """Change other members of the build, by their names in the API."""
        self._content.update(members)
        self._publish()

    def finish(self, status: str) -> None:
        """End the build."""
        now = time.time()
        self._content["phases"].append({"phaseType": "COMPLETED", "startTime": now})
        self.set(currentPhase="COMPLETED", endTime=now, buildComplete=True, buildStatus=status)

    def _publish(self) -> None:
        if self.build_id in store._builds:  # nobody deleted it in between
            store._builds[self.build_id] = self.snapshot()
