"""How the functions behind the custom resources are made."""

from __future__ import annotations

import re

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

# Long enough to look back at the deploy before last.
_LOGS_KEPT = logs.RetentionDays.THREE_MONTHS
_DIGEST = re.compile(r"[0-9a-f]{64}")


def function_log_group(scope: Construct, id: str) -> logs.LogGroup:
    """A log group that goes with the stack: what these functions log is in the stack events as well."""
    return logs.LogGroup(scope, id, retention=_LOGS_KEPT, removal_policy=RemovalPolicy.DESTROY)


def function_role(scope: Construct, id: str, *, log_group: logs.LogGroup, path: str | None = None) -> iam.Role:
    """A role that writes to one log group, where AWS's managed policy would let it write to all of the account."""
    role = iam.Role(scope, id, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"), path=path)
    log_group.grant_write(role)
    return role


def python_function(
    scope: Construct,
    id: str,
    *,
    code: lambda_.Code,
    handler: str,
    timeout: Duration,
    memory_mib: int,
    role_path: str | None = None,
) -> lambda_.Function:
    """A Python function with its own role, under `role_path`, and log group. 1769 MiB come with one whole CPU."""
    log_group = function_log_group(scope, f"{id}Logs")
    role = function_role(scope, f"{id}Role", log_group=log_group, path=role_path)
    return lambda_.Function(
        scope,
        id,
        code=code,
        handler=handler,
        timeout=timeout,
        memory_size=memory_mib,
        runtime=lambda_.Runtime.PYTHON_3_12,
        role=role,
        log_group=log_group,
    )


def every_digest(key: str) -> str:
    """What a function behind a custom resource may read: the objects like `key`, under whatever digest.

    CloudFormation calls the function seconds after it changed the function's policy, on a rollback too, and a change of
    a policy takes a while to reach all of IAM: so the policy is the same for every digest.

    >>> every_digest("models/tiny/" + "13c16f42" * 8 + "/model-manifest.json")
    'models/tiny/*/model-manifest.json'
    """
    return _DIGEST.sub("*", key)
