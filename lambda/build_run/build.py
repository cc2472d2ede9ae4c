"""Starting a CodeBuild build, and saying why one failed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from clients import Clients
from request import BuildRequest
from response import printable

if TYPE_CHECKING:
    from mypy_boto3_codebuild import CodeBuildClient
    from mypy_boto3_codebuild.type_defs import BuildTypeDef
    from mypy_boto3_logs import CloudWatchLogsClient

REASON_LIMIT_BYTES = 990
"""The Provider framework adds a pointer to its own log and a trace, and CloudFormation's whole answer is 4 KB."""

_LOG_EVENTS = 60
_MESSAGE_BYTES = 200

_ADVICE = {
    "FAILED": "correct what its log says, then deploy again",
    "FAULT": "CodeBuild itself failed: deploy again",
    "STOPPED": "someone stopped it: deploy again",
    "TIMED_OUT": "raise the project's timeout or choose a larger compute type, then deploy again",
}


class BuildFailed(Exception):
    """There is no result; the text says what happened, where the log is and what to do."""


def start_build(request: BuildRequest, request_id: str, codebuild: CodeBuildClient) -> str:
    """Start a build and return its id; the same `request_id` never starts a second one.

    Raises
    ------
    BuildFailed
        If CodeBuild refuses to start it.
    """
    try:
        answer = codebuild.start_build(
            projectName=request.project,
            # CloudFormation repeats a request with the same id when it hears nothing; the token makes that one build.
            idempotencyToken=hashlib.sha256(request_id.encode()).hexdigest(),
            environmentVariablesOverride=[
                {"name": name, "value": value, "type": "PLAINTEXT"} for name, value in request.environment.items()
            ],
        )
    except codebuild.exceptions.ResourceNotFoundException as error:
        raise BuildFailed(
            f"CodeBuild project {request.project!r} does not exist: deploy the stack that holds it first"
        ) from error
    except codebuild.exceptions.AccountLimitExceededException as error:
        raise BuildFailed(
            f"CodeBuild runs as many builds as the account may have, so none of {request.project!r} was started: "
            "deploy again when they are done, or raise the quota"
        ) from error
    except codebuild.exceptions.ClientError as error:
        raise BuildFailed(f"CodeBuild did not start {request.project!r}: {error}; deploy again"[:800]) from error
    return answer["build"]["id"]


def is_running(build_id: str, clients: Clients) -> bool:
    """Whether the build still runs; False once it succeeded.

    Raises
    ------
    BuildFailed
        If it ended in any other way, or is gone.
    """
    builds = clients.codebuild.batch_get_builds(ids=[build_id])["builds"]
    if not builds:
        raise BuildFailed(f"build {build_id} is gone: was it, or its project, deleted? Deploy again to build anew")
    status = builds[0].get("buildStatus", "FAULT")
    if status == "IN_PROGRESS":
        return True
    if status != "SUCCEEDED":
        raise BuildFailed(_why(builds[0], status, clients.logs))
    return False


def _why(build: BuildTypeDef, status: str, logs: CloudWatchLogsClient) -> str:
    """Phase, message, advice and the link to the log; then as many of the last log lines as there is room for."""
    phase, message = _failed_phase(build)
    location = build.get("logs", {})
    link = location.get("deepLink") or f"log group {location.get('groupName')}, stream {location.get('streamName')}"
    head = f"build {build.get('id', '')} {status} in phase {phase}: {_first(message, _MESSAGE_BYTES)}"
    tail = f"{_ADVICE.get(status, _ADVICE['FAILED'])}. Log: {link}"[:500]
    room = REASON_LIMIT_BYTES - len(f"{head}. Last lines: . {tail}".encode())
    lines = _last_lines(location.get("groupName"), location.get("streamName"), logs)
    return f"{head}. Last lines: {_last(lines, room)}. {tail}" if lines and room > 0 else f"{head}. {tail}"


def _first(text: str, limit: int) -> str:
    return printable(text).encode()[:limit].decode(errors="ignore")


def _last(text: str, limit: int) -> str:
    return printable(text).encode()[-limit:].decode(errors="ignore")


def _failed_phase(build: BuildTypeDef) -> tuple[str, str]:
    for phase in build.get("phases", []):
        if phase.get("phaseStatus") not in (None, "SUCCEEDED", "IN_PROGRESS", "QUEUED"):
            messages = [context.get("message", "") for context in phase.get("contexts", [])]
            return phase.get("phaseType", "?"), " ".join(filter(None, messages)) or "no message"
    return build.get("currentPhase", "?"), "no message"


def _last_lines(group: str | None, stream: str | None, logs: CloudWatchLogsClient) -> str:
    if not group or not stream:
        return ""
    try:
        answer = logs.get_log_events(logGroupName=group, logStreamName=stream, limit=_LOG_EVENTS, startFromHead=False)
    except logs.exceptions.ClientError as error:
        # The build's failure is the news; that its log could not be read only belongs beside it.
        return f"(not readable: {error.response.get('Error', {}).get('Code')})"
    lines = [event.get("message", "").strip() for event in answer.get("events", [])]
    # CodeBuild's own lines say which command failed, which the phase's message says already.
    said = [line for line in lines if line and not line.startswith("[Container]")]
    return " / ".join(said)
