"""Starting a CodeBuild build and following it to its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from decision_client.aws import AwsError, Clients, error_code, is_sign_in, why_not
from decision_client.builds.deployed import NotDeployed, NotReadable
from decision_client.builds.request import BuildRequest
from decision_client.place import Place

LONGEST_HOURS = 36
"""CodeBuild's own limit."""

_SECONDS_BETWEEN_LOOKS = 10.0
# Of the newest builds of the project: one that runs for hours is among them.
_BUILDS_LOOKED_AT = 25
_LOG_EVENTS = 20
_LAST_LINES = 5


class BuildFailed(Exception):
    """The build ended without a result; the text says in which phase, its last lines, and where its log is."""


@dataclass(frozen=True)
class Look:
    """A build as it runs: its phase, the last line of its log (empty if there is none), and how long it has run."""

    phase: str
    last_line: str
    seconds: float


class Builds:
    """The builds of one place.

    Parameters
    ----------
    place, clients:
        Where they run, and the clients of AWS.
    clock, sleep:
        Replace `time.monotonic` and `time.sleep` in tests.
    """

    def __init__(
        self,
        place: Place,
        clients: Clients,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._codebuild = clients("codebuild", place.region)
        self._logs = clients("logs", place.region)
        self._clock = clock
        self._sleep = sleep

    def find_running(self, request: BuildRequest) -> str | None:
        """The id of a build that runs already and was told the same, as after an interrupted wait.

        Raises
        ------
        NotDeployed
            If there is no such project.
        NotReadable
            If AWS does not say.
        """
        try:
            ids = self._codebuild.list_builds_for_project(projectName=request.project, sortOrder="DESCENDING")["ids"]
            builds = self._codebuild.batch_get_builds(ids=ids[:_BUILDS_LOOKED_AT])["builds"] if ids else []
        except AwsError as error:
            if error_code(error) == "ResourceNotFoundException":
                raise NotDeployed(f"there is no CodeBuild project {request.project}: deploy its stack first") from error
            raise NotReadable(why_not(error, "codebuild:ListBuildsForProject or codebuild:BatchGetBuilds")) from error
        for build in builds:
            told = {
                each["name"]: each["value"] for each in build.get("environment", {}).get("environmentVariables", [])
            }
            if build.get("buildStatus") == "IN_PROGRESS" and request.environment.items() <= told.items():
                return str(build["id"])
        return None

    def start(self, request: BuildRequest, *, hours: float) -> str:
        """Start the build and return its id.

        Raises
        ------
        NotReadable
            If CodeBuild does not start it.
        """
        variables = [{"name": name, "value": value, "type": "PLAINTEXT"} for name, value in request.environment.items()]
        try:
            answer = self._codebuild.start_build(
                projectName=request.project,
                environmentVariablesOverride=variables,
                # The project's own is what a deploy can wait for.
                timeoutInMinutesOverride=round(hours * 60),
            )
        except AwsError as error:
            raise NotReadable(why_not(error, "codebuild:StartBuild")) from error
        return str(answer["build"]["id"])

    def wait(self, build_id: str, on_look: Callable[[Look], None]) -> None:
        """Look at the build until it has succeeded.

        Raises
        ------
        BuildFailed
            If it ended in any other way.
        NotReadable
            If it is gone, or these credentials end before it does.
        """
        started = self._clock()
        while True:
            build = self._look(build_id)
            if build is not None:
                status = build.get("buildStatus")
                if status == "SUCCEEDED":
                    return
                lines = self._last_lines(build)
                if status != "IN_PROGRESS":
                    raise BuildFailed(_why(build_id, build, lines))
                last_line = lines[-1] if lines else ""
                on_look(Look(str(build.get("currentPhase", "?")), last_line, self._clock() - started))
            self._sleep(_SECONDS_BETWEEN_LOOKS)

    def _look(self, build_id: str) -> Mapping[str, Any] | None:
        """The build; None where AWS gave no answer this time: a network that comes back must not end the wait."""
        try:
            builds = self._codebuild.batch_get_builds(ids=[build_id])["builds"]
        except AwsError as error:
            if is_sign_in(error) or error_code(error) == "AccessDeniedException":
                raise NotReadable(f"{why_not(error, 'codebuild:BatchGetBuilds')}; the build itself goes on") from error
            return None
        if not builds:
            raise NotReadable(f"build {build_id} is gone: was it, or its project, deleted?")
        build: Mapping[str, Any] = builds[0]
        return build

    def _last_lines(self, build: Mapping[str, Any]) -> list[str]:
        location = build.get("logs", {})
        if not location.get("groupName") or not location.get("streamName"):
            return []
        try:
            events = self._logs.get_log_events(
                logGroupName=location["groupName"],
                logStreamName=location["streamName"],
                limit=_LOG_EVENTS,
                startFromHead=False,
            )["events"]
        except AwsError:
            # What it says is for show; the build's status is what counts.
            return []
        lines = [_printable(str(event.get("message", ""))) for event in events]
        return [line for line in lines if line and not line.startswith("[Container]")]


def _why(build_id: str, build: Mapping[str, Any], lines: list[str]) -> str:
    failed = [
        phase
        for phase in build.get("phases", [])
        if phase.get("phaseStatus") not in (None, "SUCCEEDED", "IN_PROGRESS", "QUEUED")
    ]
    phase = failed[0].get("phaseType") if failed else build.get("currentPhase", "?")
    messages = [context.get("message", "") for each in failed[:1] for context in each.get("contexts", [])]
    link = build.get("logs", {}).get("deepLink")
    return "\n".join(
        [
            f"build {build_id} {build.get('buildStatus')} in phase {phase}: {' '.join(filter(None, messages))}".rstrip(
                ": "
            ),
            *[f"  {line}" for line in lines[-_LAST_LINES:]],
            *([f"Log: {link}"] if link else []),
        ]
    )


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text).strip()
