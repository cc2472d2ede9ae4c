"""Make a log group, or take over the one that is there; and delete it only when nobody's lines are lost with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from botocore.exceptions import ClientError
from request import LogGroupRequest

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

MADE_BY = "decision-endpoints:made-by"
"""A tag that is there from the moment a group is made until the next time it is asked for: stack, ``/``, request."""

# A group that is just being deleted, and a policy that IAM has not yet told everywhere: both pass within seconds.
_PASSING = {"OperationAbortedException", "AccessDeniedException"}
_PAUSES_SECONDS = (1.0, 2.0, 4.0, 8.0)

Result = TypeVar("Result")


@dataclass(frozen=True)
class Caller:
    """The stack, by its ARN, and the one request of CloudFormation's that is being answered."""

    stack_arn: str
    request_id: str

    @property
    def mark(self) -> str:
        """The value of the tag on a group that this request made; also when Lambda runs the request again."""
        return f"{self.stack}/{self.request_id}"

    @property
    def stack(self) -> str:
        """The stack's own id, which no later stack of the same name has."""
        return self.stack_arn.rpartition("/")[2]

    def group_arn(self, name: str) -> str:
        """The ARN of a log group beside the stack."""
        _, partition, _, region, account, _ = self.stack_arn.split(":", 5)
        return f"arn:{partition}:logs:{region}:{account}:log-group:{name}"


class LogGroups:
    """The log groups of one account and region.

    Parameters
    ----------
    client:
        A boto3 client.
    caller:
        On whose behalf.
    """

    def __init__(self, client: CloudWatchLogsClient, caller: Caller) -> None:
        self._client = client
        self._caller = caller

    def ensure(self, request: LogGroupRequest) -> None:
        """Make the group if it is not there, then give it the retention and the key asked for."""
        if not self._create(request):
            self._outlived_its_create(request.name)
            self._set_key(request)
        if request.retention_days is None:
            self._patiently(lambda: self._client.delete_retention_policy(logGroupName=request.name))
        else:
            days = request.retention_days
            self._patiently(lambda: self._client.put_retention_policy(logGroupName=request.name, retentionInDays=days))

    def delete(self, name: str, *, retain: bool) -> None:
        """Delete the group, with `retain` only if this stack's latest request for it made it; none there is fine."""
        try:
            if retain and not self._tag(name).startswith(f"{self._caller.stack}/"):
                return
            self._patiently(lambda: self._client.delete_log_group(logGroupName=name))
        except self._client.exceptions.ResourceNotFoundException:
            return

    def _create(self, request: LogGroupRequest) -> bool:
        tags = {MADE_BY: self._caller.mark}
        try:
            if request.key_arn is None:
                self._patiently(lambda: self._client.create_log_group(logGroupName=request.name, tags=tags))
            else:
                key = request.key_arn
                self._patiently(
                    lambda: self._client.create_log_group(logGroupName=request.name, tags=tags, kmsKeyId=key)
                )
        except self._client.exceptions.ResourceAlreadyExistsException:
            return False
        return True

    def _outlived_its_create(self, name: str) -> None:
        """Take the tag off, unless this very request, run for a second time, made the group."""
        if self._tag(name) not in ("", self._caller.mark):
            arn = self._caller.group_arn(name)
            self._patiently(lambda: self._client.untag_resource(resourceArn=arn, tagKeys=[MADE_BY]))

    def _tag(self, name: str) -> str:
        arn = self._caller.group_arn(name)
        return self._patiently(lambda: self._client.list_tags_for_resource(resourceArn=arn))["tags"].get(MADE_BY, "")

    def _set_key(self, request: LogGroupRequest) -> None:
        if request.key_arn is not None:
            key = request.key_arn
            self._patiently(lambda: self._client.associate_kms_key(logGroupName=request.name, kmsKeyId=key))
        elif self._has_key(request.name):
            self._patiently(lambda: self._client.disassociate_kms_key(logGroupName=request.name))

    def _has_key(self, name: str) -> bool:
        # The group itself comes first of those whose names begin like it.
        answer = self._patiently(lambda: self._client.describe_log_groups(logGroupNamePrefix=name, limit=1))
        return any(group["logGroupName"] == name and group.get("kmsKeyId") for group in answer["logGroups"])

    def _patiently(self, call: Callable[[], Result]) -> Result:
        for seconds in _PAUSES_SECONDS:
            try:
                return call()
            except ClientError as error:
                if error.response["Error"]["Code"] not in _PASSING:
                    raise
            time.sleep(seconds)
        return call()
