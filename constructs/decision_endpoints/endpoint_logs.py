"""The log group that SageMaker writes an endpoint's lines to."""

from __future__ import annotations

import re

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct

from .errors import InvalidArguments

_ENDPOINT_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")


class EndpointLogs(Construct):
    """The log group of one endpoint, made before it writes, so that alarms see the first line.

    SageMaker derives the group's name from the endpoint's, so the endpoint's name is chosen here, and
    `DecisionEndpoint` takes it from here. Belongs with what lasts: a failed or deleted endpoint leaves its last words.

    Parameters
    ----------
    endpoint_name:
        Letters, digits and inner hyphens, at most 63 characters; unique in the account and region.
    retain:
        Keep the group when the stack goes, except when it is its first create that failed, whose retry would find the
        name taken. Default: True.
    retention:
        How long lines are kept. Default: three months.

    Attributes
    ----------
    endpoint_name, log_group_name, log_group:
        The name, ``/aws/sagemaker/Endpoints/<endpoint_name>``, and the group that is called so.

    Raises
    ------
    InvalidArguments
        If SageMaker would not take the name.

    Examples
    --------
    >>> EndpointLogs(stack, "Logs", endpoint_name="decisions-dev").endpoint_name
    'decisions-dev'
    >>> EndpointLogs(stack, "Logs2", endpoint_name="decisions_dev")
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: EndpointLogs Stack/Logs2: endpoint_name is 'decisions_dev': ...

    Source: Amazon SageMaker AI developer guide, "CloudWatch Logs for SageMaker AI".
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint_name: str,
        retain: bool = True,
        retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
    ) -> None:
        super().__init__(scope, id)
        if not _ENDPOINT_NAME.fullmatch(endpoint_name):
            allowed = "use letters, digits and inner hyphens, at most 63 characters"
            raise InvalidArguments(f"EndpointLogs {self.node.path}", [f"endpoint_name is {endpoint_name!r}: {allowed}"])
        self.endpoint_name = endpoint_name
        self.log_group_name = f"/aws/sagemaker/Endpoints/{endpoint_name}"
        self.log_group = logs.LogGroup(
            self,
            "LogGroup",
            log_group_name=self.log_group_name,
            retention=retention,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if retain else RemovalPolicy.DESTROY,
        )
