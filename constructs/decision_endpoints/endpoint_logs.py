"""The log group that SageMaker writes an endpoint's lines to."""

from __future__ import annotations

import re

from aws_cdk import ArnFormat, CustomResource, Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from .assets import lambda_folder
from .errors import InvalidArguments
from .functions import python_function
from .retention import retention_days

_ENDPOINT_NAME = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*")
_LONGEST_NAME = 63


def endpoint_name_complaint(what: str, name: str) -> str:
    """The sentence for a name that SageMaker would not take, or nothing.

    >>> endpoint_name_complaint("name", "decisions-dev")
    ''
    """
    if len(name) <= _LONGEST_NAME and _ENDPOINT_NAME.fullmatch(name):
        return ""
    return f"{what} is {name!r:.80}: use letters, digits and inner hyphens, at most {_LONGEST_NAME} characters"


class EndpointLogs(Construct):
    """The log group of one endpoint, there before the endpoint writes, so that alarms see the first line.

    SageMaker derives the group's name from the endpoint's, so the endpoint's name is chosen here, and
    `DecisionEndpoint` takes it from here. Belongs with what lasts: a failed or deleted endpoint leaves its last words.
    A group of the name that exists already, of an earlier stack or made by a late line, is taken over with its lines.
    Every `EndpointLogs` of a stack shares one function, which does that: CloudFormation itself would refuse the name.

    Parameters
    ----------
    endpoint_name:
        Letters, digits and inner hyphens, at most 63 characters; unique in the account and region.
    retain:
        Keep the group when the stack goes or the endpoint is renamed; when a create fails, only the group that it made
        is deleted again. False: it goes with the stack, also one that was taken over. Default: True.
    retention:
        How long lines are kept, also those that are there already. Default: three months.
    encryption_key:
        Symmetric key for new lines; its policy then admits CloudWatch Logs for this one group, unless the key was
        imported. Default: CloudWatch's own.

    Attributes
    ----------
    endpoint_name, log_group_name:
        The name, and ``/aws/sagemaker/Endpoints/<endpoint_name>``.
    log_group:
        The group. What uses it must come after this construct: ``filter.node.add_dependency(endpoint_logs)``.
    resource:
        The custom resource.
    taken_by:
        The path of the endpoint that has the name; None while there is none in this app.

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

    Source: Amazon SageMaker AI developer guide, "CloudWatch Logs for SageMaker AI"; Amazon CloudWatch Logs user guide,
    "Encrypt log data in CloudWatch Logs using AWS KMS".
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        endpoint_name: str,
        retain: bool = True,
        retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
        encryption_key: kms.IKey | None = None,
    ) -> None:
        super().__init__(scope, id)
        if complaint := endpoint_name_complaint("endpoint_name", endpoint_name):
            raise InvalidArguments(f"EndpointLogs {self.node.path}", [complaint])
        self.endpoint_name = endpoint_name
        self.taken_by: str | None = None
        self.log_group_name = f"/aws/sagemaker/Endpoints/{endpoint_name}"
        if encryption_key:
            self._admit_logs(encryption_key)
        function = _LogGroupFunction.of_stack(self)
        function.allow(self.log_group_name)
        days = retention_days(retention)
        self.resource = CustomResource(
            self,
            "Resource",
            resource_type="Custom::EndpointLogGroup",
            service_token=function.service_token,
            removal_policy=RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE if retain else RemovalPolicy.DESTROY,
            properties={
                "LogGroupName": self.log_group_name,
                "RetentionDays": "" if days is None else str(days),
                "KeyArn": encryption_key.key_arn if encryption_key else "",
                "Retain": "true" if retain else "false",
            },
        )
        # The function's permissions too, not only the function.
        self.resource.node.add_dependency(function)
        # By name: what `resource` answers would be an export for another stack, and no endpoint could be renamed.
        self.log_group = logs.LogGroup.from_log_group_name(self, "LogGroup", self.log_group_name)

    def _admit_logs(self, key: kms.IKey) -> None:
        own_group = _group_arn(self, self.log_group_name)
        key.add_to_resource_policy(
            iam.PolicyStatement(
                principals=[iam.ServicePrincipal(f"logs.{Stack.of(self).region}.amazonaws.com")],
                actions=["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey"],
                # In a key's policy: this key.
                resources=["*"],
                conditions={"ArnEquals": {"kms:EncryptionContext:aws:logs:arn": own_group}},
            )
        )


class _LogGroupFunction(Construct):
    """The function that makes or takes over log groups, once in a stack."""

    @classmethod
    def of_stack(cls, scope: Construct) -> _LogGroupFunction:
        stack = Stack.of(scope)
        existing = stack.node.try_find_child("EndpointLogGroupFunction")
        return existing if isinstance(existing, cls) else cls(stack, "EndpointLogGroupFunction")

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        with lambda_folder("endpoint_log_group") as folder:
            self._function = python_function(
                self,
                "Function",
                code=lambda_.Code.from_asset(str(folder)),
                handler="handler.handler",
                # A few calls, each tried again for some seconds while IAM learns of this function's policy.
                timeout=Duration.minutes(3),
                memory_mib=256,
            )
        # A listing names no single group; it shows names and settings, never a line.
        self._function.add_to_role_policy(
            iam.PolicyStatement(actions=["logs:DescribeLogGroups"], resources=[_group_arn(self, "*")])
        )
        self.service_token = self._function.function_arn

    def allow(self, log_group_name: str) -> None:
        """Let the function manage this group, and never read or write a line of it."""
        arn = _group_arn(self, log_group_name)
        self._function.add_to_role_policy(
            iam.PolicyStatement(
                actions=[
                    "logs:AssociateKmsKey",
                    "logs:CreateLogGroup",
                    "logs:DeleteLogGroup",
                    "logs:DeleteRetentionPolicy",
                    "logs:DisassociateKmsKey",
                    "logs:PutRetentionPolicy",
                ],
                resources=[f"{arn}:*"],
            )
        )
        # CloudWatch Logs checks tags against the group's own ARN, all else against the one that ends in :*.
        self._function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["logs:ListTagsForResource", "logs:TagResource", "logs:UntagResource"], resources=[arn]
            )
        )


def _group_arn(scope: Construct, name: str) -> str:
    return Stack.of(scope).format_arn(
        service="logs", resource="log-group", resource_name=name, arn_format=ArnFormat.COLON_RESOURCE_NAME
    )
