"""The environment of a build: its own variables, and nothing of the emulator's."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from botocore.exceptions import ClientError

from local_cloud import clean_python
from local_cloud.aws_model import JsonObject
from local_cloud.codebuild.buildspec import Buildspec
from local_cloud.codebuild.docker import docker_folder
from local_cloud.codebuild.source import SourceError
from local_cloud.loopback import aws_environment, client


def build_environment(record: JsonObject, buildspec: Buildspec, *, source: Path, home: Path) -> dict[str, str]:
    """Every variable a build starts with: the project's beat the buildspec's, the start's own beat both.

    `record` is the build as the API shows it, with the overrides of its start merged in.
    """
    variables = {**(buildspec.variables or {})}
    for name, parameter in (buildspec.parameter_store or {}).items():
        variables[name] = _parameter(name, parameter)
    for variable in record["environment"].get("environmentVariables", []):
        name, value = variable["name"], variable["value"]
        variables[name] = _parameter(name, value) if variable.get("type") == "PARAMETER_STORE" else value
    privileged = record["environment"].get("privilegedMode", False)
    return {
        **_machine(home, privileged=privileged),
        **aws_environment(),
        **_about_the_build(record, source),
        **variables,
    }


def _machine(home: Path, *, privileged: bool) -> dict[str, str]:
    # `pip install` must not change the interpreter that runs the emulator.
    packages = home / "packages"
    search_path = [str(Path(sys.executable).parent), "/usr/local/bin", "/usr/bin", "/bin"]
    if privileged:
        search_path.insert(0, str(docker_folder(home)))
    return {
        "PATH": os.pathsep.join(search_path),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "PYTHONPATH": os.pathsep.join((clean_python.FOLDER, str(packages))),
        "PYTHONUNBUFFERED": "1",
        "PIP_TARGET": str(packages),
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def _about_the_build(record: JsonObject, source: Path) -> dict[str, str]:
    return {
        "CI": "true",
        "CODEBUILD_CI": "true",
        "CODEBUILD_BUILD_ARN": record["arn"],
        "CODEBUILD_BUILD_ID": record["id"],
        "CODEBUILD_BUILD_IMAGE": record["environment"]["image"],
        "CODEBUILD_BUILD_NUMBER": str(record["buildNumber"]),
        "CODEBUILD_BUILD_SUCCEEDING": "1",
        "CODEBUILD_INITIATOR": record["initiator"],
        "CODEBUILD_LOG_PATH": record["logs"].get("streamName", ""),
        "CODEBUILD_SOURCE_REPO_URL": record["source"].get("location", ""),
        "CODEBUILD_SOURCE_VERSION": record.get("sourceVersion", ""),
        "CODEBUILD_SRC_DIR": str(source),
        "CODEBUILD_START_TIME": str(int(record["startTime"] * 1000)),
    }


def _parameter(variable: str, name: str) -> str:
    try:
        return str(client("ssm").get_parameter(Name=name, WithDecryption=True)["Parameter"]["Value"])
    except ClientError as error:
        raise SourceError(f"environment variable {variable}: cannot read the parameter {name}: {error}") from error
