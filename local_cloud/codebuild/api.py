"""StartBuild and StopBuild: builds that run."""

from __future__ import annotations

import collections
import copy
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ministack.services import codebuild as store  # type: ignore[import-untyped]

from local_cloud import aws_model
from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.codebuild import projects
from local_cloud.codebuild.build_record import BuildRecord
from local_cloud.codebuild.build_run import BuildRun
from local_cloud.ministack_seams import Response, account_id, in_background, json_answer, json_refusal, region

_TOKEN_SECONDS = 300.0
_STOP_SECONDS = 10.0

# Where a start overrides a member of its project.
_OVERRIDES: dict[str, tuple[str, ...]] = {
    "sourceVersion": ("sourceVersion",),
    "sourceTypeOverride": ("source", "type"),
    "sourceLocationOverride": ("source", "location"),
    "buildspecOverride": ("source", "buildspec"),
    "artifactsOverride": ("artifacts",),
    "timeoutInMinutesOverride": ("timeoutInMinutes",),
}
_OTHER_PARAMETERS = ("projectName", "idempotencyToken", "environmentVariablesOverride")

_starting = threading.Lock()
_build_numbers: collections.Counter[tuple[str, str, str]] = collections.Counter()


@dataclass(frozen=True)
class _Started:
    """A start that may be repeated: the same token with the same parameters means the same build."""

    build_id: str
    params: JsonObject
    at: float


_started: dict[tuple[str, str, str], _Started] = {}
_runs: dict[str, tuple[BuildRun, threading.Thread]] = {}


def install() -> None:
    """Replace the emulator's own two, which would want Docker. It looks them up by name at each call."""
    store._start_build = _answering(start_build)
    store._stop_build = _answering(stop_build)


def reset() -> None:
    """Stop all builds and forget the tokens. Blocks until the builds have ended, at most ten seconds."""
    with _starting:
        _started.clear()
        _build_numbers.clear()
        running = list(_runs.values())
    for run, _thread in running:
        run.stop()
    deadline = time.monotonic() + _STOP_SECONDS
    for _run, thread in running:
        thread.join(max(0.0, deadline - time.monotonic()))


def start_build(params: JsonObject) -> JsonObject:
    """Start a build in a thread of its own and return its record, IN_PROGRESS."""
    try:
        aws_model.validate("codebuild", "StartBuild", params)
    except ApiError as error:
        raise ApiError("InvalidInputException", str(error)) from error
    unknown = sorted(set(params) - set(_OVERRIDES) - set(_OTHER_PARAMETERS))
    if unknown:
        raise ApiError("InvalidInputException", f"the local cloud does not emulate {', '.join(unknown)}: leave it out")
    with _starting:
        earlier = _earlier_start(params)
        if earlier is not None:
            return earlier
        project = _overridden(projects.find(params["projectName"]), params)
        projects.check_emulated(project)
        record = BuildRecord(_new_build(project))
        if "idempotencyToken" in params:
            _started[_token(params)] = _Started(record.build_id, params, time.monotonic())
        first = record.snapshot()
        _run_in_background(record)
    return first


def stop_build(params: JsonObject) -> JsonObject:
    """Ask a running build to end; one that has ended stays as it is."""
    build = store._builds.get(params.get("id", ""))
    if build is None:
        raise ApiError("ResourceNotFoundException", f"Build cannot be found: {params.get('id')}")
    running = _runs.get(build["id"])
    if running is not None:
        running[0].stop()
    return dict(build)


def _run_in_background(record: BuildRecord) -> None:
    run = BuildRun(record)

    def work() -> None:
        try:
            run.run()
        finally:
            with _starting:
                _runs.pop(record.build_id, None)

    _runs[record.build_id] = (run, in_background(work, name=f"build-{record.build_id}"))


def _token(params: JsonObject) -> tuple[str, str, str]:
    return account_id(), region(), params["idempotencyToken"]


def _earlier_start(params: JsonObject) -> JsonObject | None:
    now = time.monotonic()
    for token in [token for token, start in _started.items() if now - start.at > _TOKEN_SECONDS]:
        del _started[token]
    earlier = _started.get(_token(params)) if "idempotencyToken" in params else None
    if earlier is None or earlier.build_id not in store._builds:
        return None
    if earlier.params != params:
        raise ApiError(
            "InvalidInputException",
            f"idempotencyToken {params['idempotencyToken']} was used with other parameters: use a new token",
        )
    return copy.deepcopy(dict(store._builds[earlier.build_id]))


def _overridden(project: JsonObject, params: JsonObject) -> JsonObject:
    project = copy.deepcopy(project)
    for parameter, (*parents, member) in _OVERRIDES.items():
        if parameter in params:
            target = project
            for parent in parents:
                target = target[parent]
            target[member] = params[parameter]
    variables = {
        variable["name"]: variable
        for variable in (
            *project["environment"].get("environmentVariables", []),
            *params.get("environmentVariablesOverride", []),
        )
    }
    project["environment"]["environmentVariables"] = list(variables.values())
    return project


def _new_build(project: JsonObject) -> JsonObject:
    build_id: str = store._build_id(project["name"])
    number = (account_id(), region(), project["name"])
    _build_numbers[number] += 1
    now = time.time()
    return {
        "id": build_id,
        "arn": store._build_arn(build_id),
        "buildNumber": _build_numbers[number],
        "projectName": project["name"],
        "startTime": now,
        "currentPhase": "SUBMITTED",
        "buildStatus": "IN_PROGRESS",
        "buildComplete": False,
        "phases": [
            {
                "phaseType": "SUBMITTED",
                "phaseStatus": "SUCCEEDED",
                "startTime": now,
                "endTime": now,
                "durationInSeconds": 0,
            }
        ],
        **{
            member: project[member]
            for member in (
                "source",
                "sourceVersion",
                "artifacts",
                "environment",
                "serviceRole",
                "timeoutInMinutes",
                "queuedTimeoutInMinutes",
                "encryptionKey",
            )
            if member in project
        },
        "initiator": "local-cloud",
        "logs": _log_location(project, build_id),
    }


def _log_location(project: JsonObject, build_id: str) -> JsonObject:
    wanted = project.get("logsConfig", {}).get("cloudWatchLogs", {"status": "ENABLED"})
    if wanted.get("status") == "DISABLED":
        return {"cloudWatchLogs": wanted}
    unique = build_id.rpartition(":")[2]
    group = wanted.get("groupName", f"/aws/codebuild/{project['name']}")
    stream = f"{wanted['streamName']}/{unique}" if "streamName" in wanted else unique
    return {
        "groupName": group,
        "streamName": stream,
        "deepLink": f"https://console.aws.amazon.com/cloudwatch/home?region={region()}#logsV2:log-groups/log-group/"
        f"{group.replace('/', '$252F')}/log-events/{stream.replace('/', '$252F')}",
        "cloudWatchLogs": wanted,
        "cloudWatchLogsArn": f"arn:aws:logs:{region()}:{account_id()}:log-group:{group}:log-stream:{stream}",
    }


def _answering(operation: Callable[[JsonObject], JsonObject]) -> Callable[[JsonObject], Response]:
    def answer(params: JsonObject) -> Response:
        try:
            return json_answer({"build": operation(params)})
        except ApiError as error:
            return json_refusal(error.code, str(error), error.status)

    return answer
