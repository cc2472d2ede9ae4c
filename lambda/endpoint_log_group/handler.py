"""Custom resource: the log group of an endpoint, whether or not it is there already.

CloudFormation's own AWS::Logs::LogGroup fails when the group exists; and it may, because SageMaker makes it at an
endpoint's first line and again at a late one, and because a stack that went has left it behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from log_group import Caller, LogGroups
from request import GROUPS, read_request
from response import failure, send, success

if TYPE_CHECKING:
    from mypy_boto3_logs import CloudWatchLogsClient

_NOT_CREATED = "endpoint-log-group/not-created"


def handler(event: Mapping[str, Any], context: object) -> None:
    """Answer one request of CloudFormation."""
    answer = answer_to(event, _logs())
    print(answer.decode())
    send(event["ResponseURL"], answer)


def answer_to(event: Mapping[str, Any], logs: CloudWatchLogsClient) -> bytes:
    """The answer to one request, whatever happens; nothing is sent.

    The physical id is the group's name: another name is another group, and CloudFormation deletes the old one, if it is
    not to be retained.
    """
    physical_id = str(event.get("PhysicalResourceId") or _NOT_CREATED)
    try:
        groups = LogGroups(logs, Caller(event["StackId"], event["RequestId"]))
        if event["RequestType"] == "Delete":
            if physical_id.startswith(GROUPS):
                groups.delete(physical_id, retain=read_request(event["ResourceProperties"]).retain)
            return success(event, physical_id, {})
        request = read_request(event["ResourceProperties"])
        physical_id = request.name
        groups.ensure(request)
        return success(event, physical_id, {})
    except Exception as error:  # noqa: BLE001 - whatever it is, CloudFormation must hear of it now and not in an hour
        return failure(event, physical_id, str(error) or type(error).__name__)


def _logs() -> CloudWatchLogsClient:
    config = Config(connect_timeout=5, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 3})
    return boto3.client("logs", config=config)
