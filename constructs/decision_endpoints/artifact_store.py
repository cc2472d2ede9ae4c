"""Where models live: one bucket that nobody can read in the clear, overwrite, or delete by accident."""

from __future__ import annotations

from aws_cdk import ArnFormat, Duration, Lazy, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from decision_provenance.manifest import MODELS_PREFIX, model_prefix
from decision_provenance.verification_record import VERIFIED_PREFIX

from .errors import InvalidArguments
from .lazy_list import LazyList

VERIFIER_ROLE_PATH = "/decision-endpoints/verifier/"
"""The IAM path of the roles that may write verification records.

They belong to stacks that come after the store's own: it can know their path, but not their names.
"""

_ACCESS_LOGS_KEPT = Duration.days(90)


class ArtifactStore(Construct):
    """A versioned, encrypted bucket, with access logs, whose model prefixes are written once.

    Models lie under ``models/``, written once by whom `grant_publish` names; what `VerifiedGguf` found of them lies
    under ``verified/``, where nobody else writes. No lifecycle rule ever matches a current object: a rollback needs the
    model it returns to.

    Parameters
    ----------
    encryption_key:
        Customer-managed key. Default: S3-managed encryption.
    access_log_bucket:
        Receives S3 access logs. Default: a bucket of its own, which keeps them for 90 days.
    retain:
        Keep the buckets and their objects when the stack goes. Default: True.
    empty_first:
        When not retained, delete the objects before the bucket, as S3 demands. Default: True. False suits the local
        cloud, whose CloudFormation deletes a bucket with all it holds and which cannot run the function that CDK
        empties buckets with.
    superseded_after:
        How long an overwritten or deleted version stays recoverable (whole days, at least 1). Default: 30 days.

    Attributes
    ----------
    bucket, access_log_bucket:
        The two buckets.

    Raises
    ------
    InvalidArguments
        If `superseded_after` is not a whole number of days, at least one.

    Examples
    --------
    >>> from aws_cdk import App, Stack
    >>> stack = Stack(App(), "Artifacts")
    >>> store = ArtifactStore(stack, "Store")
    >>> store.model_prefix("qwen3.5-4b", "13c16f42" * 8)
    'models/qwen3.5-4b/13c16f4213c16f4213c16f4213c16f4213c16f4213c16f4213c16f4213c16f42/'

    Source: Amazon S3 user guide, security best practices and "Enforce conditional writes".
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        encryption_key: kms.IKey | None = None,
        access_log_bucket: s3.IBucket | None = None,
        retain: bool = True,
        empty_first: bool = True,
        superseded_after: Duration | None = None,
    ) -> None:
        super().__init__(scope, id)
        superseded_after = superseded_after or Duration.days(30)
        hours = superseded_after.to_hours(integral=False)
        if hours < 24 or hours % 24:
            raise InvalidArguments(
                f"ArtifactStore {self.node.path}",
                [f"superseded_after is {hours:g} hours: S3 counts in whole days, give at least Duration.days(1)"],
            )
        self._removal_policy = RemovalPolicy.RETAIN if retain else RemovalPolicy.DESTROY
        self._empties = empty_first and not retain
        self._publishers: list[str] = []

        self.access_log_bucket = access_log_bucket or self._build_access_log_bucket()
        self.bucket = s3.Bucket(
            self,
            "Bucket",
            versioned=True,
            encryption=s3.BucketEncryption.KMS if encryption_key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=encryption_key,
            bucket_key_enabled=encryption_key is not None,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            server_access_logs_bucket=self.access_log_bucket,
            server_access_logs_prefix="models/",
            lifecycle_rules=[
                s3.LifecycleRule(
                    noncurrent_version_expiration=superseded_after,
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
            removal_policy=self._removal_policy,
            auto_delete_objects=self._empties,
        )
        self._deny_overwriting_models()
        self._deny_others_recording()

    def model_prefix(self, name: str, digest: str) -> str:
        """The key prefix of one model: its digest is in it, so other bytes can never appear under the same key."""
        return model_prefix(name, digest)

    def grant_publish(self, publisher: iam.IRole) -> None:
        """Let `publisher` add models, and nobody else, not even `publisher` itself, replace one."""
        if not self._publishers:
            self._deny_others_publishing()
        self._publishers.append(publisher.role_arn)
        self.bucket.grant_put(publisher, f"{MODELS_PREFIX}*")
        # To tell an identical object that is already there from one that is in the way.
        self.bucket.grant_read(publisher, f"{MODELS_PREFIX}*")

    def grant_verify(self, verifier: iam.IGrantable) -> None:
        """Let `verifier`, whose role must have `VERIFIER_ROLE_PATH`, write and read the records of verified models."""
        verifier.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["s3:GetObject", "s3:PutObject"],
                resources=[self.bucket.arn_for_objects(f"{VERIFIED_PREFIX}*")],
            )
        )
        if self.bucket.encryption_key:
            self.bucket.encryption_key.grant_encrypt_decrypt(verifier)

    def _build_access_log_bucket(self) -> s3.Bucket:
        return s3.Bucket(
            self,
            "AccessLogs",
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            lifecycle_rules=[s3.LifecycleRule(expiration=_ACCESS_LOGS_KEPT)],
            removal_policy=self._removal_policy,
            auto_delete_objects=self._empties,
        )

    def _deny_overwriting_models(self) -> None:
        self.bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid="ModelsAreWrittenOnce",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["s3:PutObject"],
                resources=[self.bucket.arn_for_objects(f"{MODELS_PREFIX}*")],
                # Parts of a multipart upload cannot carry the header; its completion must.
                conditions={"Null": {"s3:if-none-match": "true"}, "Bool": {"s3:ObjectCreationOperation": "true"}},
            )
        )

    def _deny_others_publishing(self) -> None:
        self.bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid="OnlyPublishersWriteModels",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["s3:PutObject"],
                resources=[self.bucket.arn_for_objects(f"{MODELS_PREFIX}*")],
                conditions={"ArnNotEquals": {"aws:PrincipalArn": Lazy.list(LazyList(self._publishers))}},
            )
        )

    def _deny_others_recording(self) -> None:
        """A record stands for reading the bytes again. Deleting one is harmless: they are read again, then."""
        verifiers = Stack.of(self).format_arn(
            service="iam",
            region="",
            resource="role",
            resource_name=f"{VERIFIER_ROLE_PATH.removeprefix('/')}*",
            arn_format=ArnFormat.SLASH_RESOURCE_NAME,
        )
        self.bucket.add_to_resource_policy(
            iam.PolicyStatement(
                sid="OnlyVerifiersWriteRecords",
                effect=iam.Effect.DENY,
                principals=[iam.AnyPrincipal()],
                actions=["s3:PutObject", "s3:ReplicateObject"],
                resources=[self.bucket.arn_for_objects(f"{VERIFIED_PREFIX}*")],
                conditions={"ArnNotLike": {"aws:PrincipalArn": verifiers}},
            )
        )
