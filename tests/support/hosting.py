"""Drive the SageMaker of a running local cloud: define, deploy, ask, and wait with a deadline."""

from __future__ import annotations

import json
import os
import sys
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tests.support.aws_clients import client_of
from tests.support.waiting import eventually

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_logs import CloudWatchLogsClient
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import ContainerDefinitionTypeDef
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

    from local_cloud.running_cloud import RunningCloud

ROLE = "arn:aws:iam::123456789012:role/model"
BUCKET = "model-bucket"


def is_alive(pid: int) -> bool:
    """Whether a process runs. An orphan that ended, and that nobody waits for, does not."""
    try:
        os.kill(pid, 0)
        if sys.platform == "linux":
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
    return True


class Hosting:
    """Clients of one local cloud, and the few steps that every test takes."""

    def __init__(self, cloud: RunningCloud) -> None:
        self.home: Path = cloud.home
        self.sagemaker: SageMakerClient = client_of(cloud, "sagemaker")
        self.runtime: SageMakerRuntimeClient = client_of(cloud, "sagemaker-runtime")
        self.s3: S3Client = client_of(cloud, "s3")
        self.logs: CloudWatchLogsClient = client_of(cloud, "logs")
        self.cloudformation: CloudFormationClient = client_of(cloud, "cloudformation")
        self.cloudwatch: Any = client_of(cloud, "cloudwatch")
        self.codebuild: Any = client_of(cloud, "codebuild")
        self.ecr: Any = client_of(cloud, "ecr")
        self.iam: Any = client_of(cloud, "iam")
        self.lambda_: Any = client_of(cloud, "lambda")
        self.sns: Any = client_of(cloud, "sns")

    def define(self, *, count: int = 1, environment: dict[str, str] | None = None, **container: Any) -> str:
        """Create a model and an endpoint configuration of the same new name, and return it."""
        name = f"n-{uuid.uuid4().hex[:12]}"
        self.sagemaker.create_model(
            ModelName=name,
            ExecutionRoleArn=ROLE,
            PrimaryContainer=cast(
                "ContainerDefinitionTypeDef", {"Image": "adapter", "Environment": environment or {}, **container}
            ),
        )
        self.sagemaker.create_endpoint_config(
            EndpointConfigName=name,
            ProductionVariants=[
                {
                    "VariantName": "main",
                    "ModelName": name,
                    "InitialInstanceCount": count,
                    "InstanceType": "ml.c6i.xlarge",
                }
            ],
        )
        return name

    def deploy(self, *, count: int = 1, environment: dict[str, str] | None = None, **container: Any) -> str:
        """Create an endpoint and wait until it is in service; returns its name, which its configuration has too."""
        name = self.define(count=count, environment=environment, **container)
        self.sagemaker.create_endpoint(EndpointName=name, EndpointConfigName=name)
        description = self.settled(name)
        assert description["EndpointStatus"] == "InService", description.get("FailureReason")
        return name

    def describe(self, name: str) -> dict[str, Any]:
        """DescribeEndpoint."""
        return dict(self.sagemaker.describe_endpoint(EndpointName=name))

    def settled(self, name: str) -> dict[str, Any]:
        """The description of an endpoint once no operation is in progress."""
        return eventually(
            lambda: None if self.describe(name)["EndpointStatus"] in ("Creating", "Updating") else self.describe(name),
            f"{name} settles",
        )

    def reaches(self, name: str, status: str) -> dict[str, Any]:
        """The description of an endpoint once it has this status."""

        def look() -> dict[str, Any] | None:
            description = self.describe(name)
            return description if description["EndpointStatus"] == status else None

        return eventually(look, f"{name} becomes {status}")

    def gone(self, name: str) -> None:
        """Wait until there is no endpoint of this name."""
        eventually(
            lambda: not self.sagemaker.list_endpoints(NameContains=name)["Endpoints"], f"the endpoint {name} is gone"
        )

    def ask(self, endpoint: str, **asked: Any) -> Any:
        """Invoke the stand-in adapter; what it answers by default describes its process."""
        response = self.runtime.invoke_endpoint(
            EndpointName=endpoint, ContentType="application/json", Body=json.dumps(asked).encode()
        )
        return json.loads(response["Body"].read())

    def builds(self) -> set[str]:
        """The ids of all builds there ever were."""
        return set(_all(self.codebuild, "list_builds", "ids[]"))

    def events(self, group: str) -> list[Any]:
        """All events of a log group, the first first."""
        pages = self.logs.get_paginator("filter_log_events").paginate(logGroupName=group)
        return sorted((event for page in pages for event in page["events"]), key=lambda event: event["timestamp"])

    def everything(self) -> set[str]:
        """The name of each thing there is that a stack of ours could have made or caused."""
        listed = {
            "alarm": _all(self.cloudwatch, "describe_alarms", "MetricAlarms[].AlarmName"),
            "bucket": _all(self.s3, "list_buckets", "Buckets[].Name"),
            "dashboard": _all(self.cloudwatch, "list_dashboards", "DashboardEntries[].DashboardName"),
            "endpoint": _all(self.sagemaker, "list_endpoints", "Endpoints[].EndpointName"),
            "endpoint config": _all(self.sagemaker, "list_endpoint_configs", "EndpointConfigs[].EndpointConfigName"),
            "export": _all(self.cloudformation, "list_exports", "Exports[].Name"),
            "function": _all(self.lambda_, "list_functions", "Functions[].FunctionName"),
            "log group": _all(self.logs, "describe_log_groups", "logGroups[].logGroupName"),
            "model": _all(self.sagemaker, "list_models", "Models[].ModelName"),
            "project": _all(self.codebuild, "list_projects", "projects[]"),
            "repository": _all(self.ecr, "describe_repositories", "repositories[].repositoryName"),
            "role": _all(self.iam, "list_roles", "Roles[].RoleName"),
            "stack": _all(
                self.cloudformation, "list_stacks", "StackSummaries[?StackStatus!='DELETE_COMPLETE'].StackName"
            ),
            "topic": _all(self.sns, "list_topics", "Topics[].TopicArn"),
        }
        return {f"{kind} {name}" for kind, names in listed.items() for name in names}

    def put_model(self, prefix: str, **files: bytes) -> None:
        """Store files below a prefix of the test bucket."""
        self.s3.create_bucket(Bucket=BUCKET)
        for name, content in files.items():
            self.s3.put_object(Bucket=BUCKET, Key=f"{prefix}{name}", Body=content)


def _all(client: Any, operation: str, found: str) -> list[str]:
    """What `found`, a JMESPath, finds in every page of a listing."""
    return list(client.get_paginator(operation).paginate().search(found))


def from_prefix(prefix: str) -> dict[str, Any]:
    """The model source of a container: the files below a prefix of the test bucket, as they are."""
    source = {"S3Uri": f"s3://{BUCKET}/{prefix}", "S3DataType": "S3Prefix", "CompressionType": "None"}
    return {"S3DataSource": source}
