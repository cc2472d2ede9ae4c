"""The execution role of an endpoint: what SageMaker does in its name, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from constructs import Construct

from .endpoint_metrics import INSTANCE_NAMESPACE
from .images import BoundImage
from .model_package import PackagedModel


def build_role(
    scope: Construct, *, models: Sequence[PackagedModel], images: Sequence[BoundImage], log_group_name: str
) -> iam.Role:
    """A role that reads these models, pulls these images, writes this log and publishes the instances' metrics."""
    role = iam.Role(scope, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
    for model in dict.fromkeys(models):
        _allow_reading(role, model)
    for image in dict.fromkeys(images):
        image.grant_pull(role)
    _allow_writing(role, log_group_name)
    # CPU and memory of the instances, which SageMaker publishes as this role. The action knows no resource.
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["cloudwatch:PutMetricData"],
            resources=["*"],
            conditions={"StringEquals": {"cloudwatch:namespace": INSTANCE_NAMESPACE}},
        )
    )
    return role


def allow_volume_key(role: iam.Role, key: kms.IKey) -> None:
    """Let SageMaker, as `role`, hand the key to the volumes of the instances."""
    key.grant(role, "kms:DescribeKey")
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["kms:CreateGrant"],
            resources=[key.key_arn],
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
        )
    )


def _allow_reading(role: iam.Role, model: PackagedModel) -> None:
    # Every digest of this model, not only the new one: while an update runs, an instance of the old one may start.
    objects = model.bucket.arn_for_objects(f"{model.releases_prefix}*")
    role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=[objects]))
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["s3:ListBucket"],
            resources=[model.bucket.bucket_arn],
            conditions={"StringLike": {"s3:prefix": f"{model.releases_prefix}*"}},
        )
    )
    if model.bucket.encryption_key:
        model.bucket.encryption_key.grant_decrypt(role)


def _allow_writing(role: iam.Role, log_group_name: str) -> None:
    # By name: a reference to another stack's group would be an export, and the endpoint could never be renamed.
    own_log = Stack.of(role).format_arn(
        service="logs",
        resource="log-group",
        resource_name=f"{log_group_name}:*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
            resources=[own_log],
        )
    )
