"""CloudWatch Logs in memory, as far as log groups are made, found, changed and deleted, with an IAM that may say no."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

ARN_PREFIX = "arn:aws:logs:eu-west-1:123456789012:log-group:"


class ResourceAlreadyExists(ClientError):
    """The name is taken."""


class ResourceNotFound(ClientError):
    """There is no such group."""


class _Exceptions:
    ResourceAlreadyExistsException = ResourceAlreadyExists
    ResourceNotFoundException = ResourceNotFound


def refusal(code: str, kind: type[ClientError] = ClientError) -> ClientError:
    """An error as botocore raises it."""
    return kind({"Error": {"Code": code, "Message": f"{code} of a test"}}, "AnOperation")


@dataclass
class Group:
    """One log group."""

    tags: dict[str, str] = field(default_factory=dict)
    days: int | None = None
    key: str | None = None


class FakeLogs:
    """A client; `refusals` are raised by the next calls, one each."""

    exceptions = _Exceptions

    def __init__(self) -> None:
        self.groups: dict[str, Group] = {}
        self.refusals: list[ClientError] = []

    @property
    def client(self) -> CloudWatchLogsClient:
        """Itself, for who takes the real one."""
        return cast("CloudWatchLogsClient", self)

    def create_log_group(self, *, logGroupName: str, tags: dict[str, str], kmsKeyId: str | None = None) -> None:  # noqa: N803
        self._maybe_refuse()
        if logGroupName in self.groups:
            raise refusal("ResourceAlreadyExistsException", ResourceAlreadyExists)
        self.groups[logGroupName] = Group(tags=dict(tags), key=kmsKeyId)

    def delete_log_group(self, *, logGroupName: str) -> None:  # noqa: N803
        self._group(logGroupName)
        del self.groups[logGroupName]

    def put_retention_policy(self, *, logGroupName: str, retentionInDays: int) -> None:  # noqa: N803
        self._group(logGroupName).days = retentionInDays

    def delete_retention_policy(self, *, logGroupName: str) -> None:  # noqa: N803
        self._group(logGroupName).days = None

    def associate_kms_key(self, *, logGroupName: str, kmsKeyId: str) -> None:  # noqa: N803
        self._group(logGroupName).key = kmsKeyId

    def disassociate_kms_key(self, *, logGroupName: str) -> None:  # noqa: N803
        self._group(logGroupName).key = None

    def describe_log_groups(self, *, logGroupNamePrefix: str, limit: int) -> dict[str, Any]:  # noqa: N803
        self._maybe_refuse()
        names = sorted(name for name in self.groups if name.startswith(logGroupNamePrefix))[:limit]
        keys = {name: {"kmsKeyId": key} if (key := self.groups[name].key) else {} for name in names}
        return {"logGroups": [{"logGroupName": name, **keys[name]} for name in names]}

    def list_tags_for_resource(self, *, resourceArn: str) -> dict[str, Any]:  # noqa: N803
        return {"tags": dict(self._tagged(resourceArn).tags)}

    def untag_resource(self, *, resourceArn: str, tagKeys: list[str]) -> None:  # noqa: N803
        for key in tagKeys:
            self._tagged(resourceArn).tags.pop(key, None)

    def _tagged(self, arn: str) -> Group:
        assert arn.startswith(ARN_PREFIX)
        return self._group(arn.removeprefix(ARN_PREFIX))

    def _group(self, name: str) -> Group:
        self._maybe_refuse()
        if name not in self.groups:
            raise refusal("ResourceNotFoundException", ResourceNotFound)
        return self.groups[name]

    def _maybe_refuse(self) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
