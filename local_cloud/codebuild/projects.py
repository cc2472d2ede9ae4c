"""CodeBuild projects, kept whole: the emulator's own records drop members that a build needs.

What no build here would honour is refused when the project is made or changed.
"""

from __future__ import annotations

import time
from typing import Any

from ministack.services import codebuild as store  # type: ignore[import-untyped]
from ministack.services.cloudformation import provisioners  # type: ignore[import-untyped]

from local_cloud import aws_model
from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.ministack_seams import (
    Attributes,
    Properties,
    ResourceType,
    Response,
    account_id,
    generated_name,
    json_answer,
    json_refusal,
    region,
    register_resource,
)

_EMULATED = frozenset(
    {
        "name",
        "description",
        "source",
        "sourceVersion",
        "artifacts",
        "cache",
        "environment",
        "serviceRole",
        "timeoutInMinutes",
        "queuedTimeoutInMinutes",
        "encryptionKey",
        "tags",
        "badgeEnabled",
        "logsConfig",
    }
)

SOURCES = ("S3", "NO_SOURCE")
ARTIFACTS = ("S3", "NO_ARTIFACTS")
VARIABLES = ("PLAINTEXT", "PARAMETER_STORE")


def install() -> None:
    """Answer the API's project operations, and provision `AWS::CodeBuild::Project`."""
    store._create_project = _answering(create)
    store._update_project = _answering(update)
    store._project_shape = dict
    register_resource("AWS::CodeBuild::Project", ResourceType(_cfn_create, _cfn_update, _cfn_delete))


def create(params: JsonObject) -> JsonObject:
    """CreateProject."""
    _check("CreateProject", params)
    name = params["name"]
    if name in store._projects:
        raise ApiError("ResourceAlreadyExistsException", f"Project already exists: {store._project_arn(name)}")
    now = time.time()
    store._projects[name] = {
        "timeoutInMinutes": 60,
        "queuedTimeoutInMinutes": 480,
        "encryptionKey": f"arn:aws:kms:{region()}:{account_id()}:alias/aws/s3",
        **params,
        "arn": store._project_arn(name),
        "created": now,
        "lastModified": now,
        "badge": {"badgeEnabled": False},
    }
    return dict(store._projects[name])


def update(params: JsonObject) -> JsonObject:
    """UpdateProject: members that are given replace the old ones."""
    _check("UpdateProject", params)
    project = find(params["name"])
    project = {**project, **params, "lastModified": time.time()}
    store._projects[params["name"]] = project
    return dict(project)


def find(name: str) -> JsonObject:
    """A project of the current account and region, or ResourceNotFoundException."""
    if name not in store._projects:
        raise ApiError("ResourceNotFoundException", f"Project cannot be found: {store._project_arn(name)}")
    return dict(store._projects[name])


def check_emulated(project: JsonObject) -> None:
    """Refuse what a build of this project, or of these overrides, would need and not get.

    Raises
    ------
    ApiError
        `InvalidInputException` that says what is emulated instead.
    """
    unknown = sorted(set(project) - _EMULATED - {"arn", "created", "lastModified", "badge"})
    if unknown:
        raise _not_emulated(f"{', '.join(unknown)} of a project", "leave it out here")
    environment = project.get("environment", {})
    choices = [
        ("source.type", project.get("source", {}).get("type", SOURCES[0]), SOURCES),
        ("artifacts.type", project.get("artifacts", {}).get("type", ARTIFACTS[0]), ARTIFACTS),
        ("cache.type", project.get("cache", {}).get("type", "NO_CACHE"), ("NO_CACHE",)),
        *(
            (f"type of environment variable {variable['name']}", variable.get("type", VARIABLES[0]), VARIABLES)
            for variable in environment.get("environmentVariables", [])
        ),
    ]
    for what, value, emulated in choices:
        if value not in emulated:
            raise _not_emulated(f"{what} {value}", f"use {' or '.join(emulated)}")


def _not_emulated(what: str, remedy: str) -> ApiError:
    return ApiError("InvalidInputException", f"the local cloud does not emulate {what}: {remedy}")


def _check(operation: str, params: JsonObject) -> None:
    try:
        aws_model.validate("codebuild", operation, params)
    except ApiError as error:
        raise ApiError("InvalidInputException", str(error)) from error
    check_emulated(params)


def _answering(operation: Any) -> Any:
    def answer(params: JsonObject) -> Response:
        try:
            return json_answer({"project": operation(params)})
        except ApiError as error:
            return json_refusal(error.code, str(error), error.status)

    return answer


def _cfn_create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, Attributes]:
    request = _request(properties)
    request.setdefault("name", generated_name(stack_name, logical_id, longest=255))
    return _cfn_result(create, request)


def _cfn_update(physical_id: str, old: Properties, new: Properties, stack_name: str) -> tuple[str, Attributes]:
    request = _request(new)
    if request.setdefault("name", physical_id) != physical_id:
        return _cfn_result(create, request)  # a replacement: CloudFormation deletes the old one
    kept = find(physical_id)
    gone = _EMULATED - set(request) - {"timeoutInMinutes", "queuedTimeoutInMinutes", "encryptionKey"}
    store._projects[physical_id] = {member: value for member, value in kept.items() if member not in gone}
    return _cfn_result(update, request)


def _cfn_delete(physical_id: str, properties: Properties) -> None:
    store._projects.pop(physical_id, None)


def _cfn_result(operation: Any, request: JsonObject) -> tuple[str, Attributes]:
    try:
        project = operation(request)
    except ApiError as error:
        raise ValueError(f'Resource handler returned message: "{error}"') from error
    return project["name"], {"Arn": project["arn"]}


def _request(properties: Properties) -> JsonObject:
    """The properties of the CloudFormation type as parameters of CreateProject, spelt and typed as the API has them."""
    spelt: JsonObject = provisioners._codebuild_cfn_to_api(properties)
    if "source" in spelt:
        spelt["source"] = provisioners._codebuild_cfn_to_api(properties["Source"])
    request: JsonObject = aws_model.coerce(spelt, aws_model.input_shape("codebuild", "CreateProject"))
    return request
