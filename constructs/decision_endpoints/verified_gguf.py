"""Stored bytes that were read again and found to be the pinned ones."""

from __future__ import annotations

import json
from collections.abc import Sequence

from aws_cdk import CustomResource, Duration, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_s3 as s3
from constructs import Construct

from decision_provenance.manifest import PackagedFile

from .assets import lambda_folder
from .functions import every_digest, python_function


class VerifiedGguf(Construct):
    """Hashes a model's files in S3 during the deploy, compares them with the pin, then reads the GGUF header.

    Whatever takes its `s3_uri` from here cannot exist before the bytes were verified. Every `VerifiedGguf` of a stack
    shares one function, which reads in chunks, at most for the 15 minutes a function has: about 70 GB.

    Parameters
    ----------
    bucket, prefix:
        Where the files are; the prefix ends in ``/``.
    files:
        The pin, in shard order.

    Attributes
    ----------
    resource:
        The custom resource; further facts of the header are its attributes:
        ``resource.get_att_string("Architecture")``.
    s3_uri, digest:
        The verified prefix as ``s3://…/``, and the digest that was found.

    Examples
    --------
    >>> verified = VerifiedGguf(
    ...     stack,
    ...     "Verified",
    ...     bucket=bucket,
    ...     prefix="models/tiny/" + "13c16f42" * 8 + "/",
    ...     files=[PackagedFile(name="tiny.gguf", sha256="13c16f42" * 8, bytes=113_000)],
    ... )
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        bucket: s3.IBucket,
        prefix: str,
        files: Sequence[PackagedFile],
    ) -> None:
        super().__init__(scope, id)
        verifier = _Verifier.of_stack(self)
        verifier.allow(bucket, prefix)
        self.resource = CustomResource(
            self,
            "Resource",
            resource_type="Custom::VerifiedGguf",
            service_token=verifier.service_token,
            properties={
                "Bucket": bucket.bucket_name,
                "Prefix": prefix,
                "Files": json.dumps([file.to_json() for file in files]),
            },
        )
        # The function's permissions too, not only the function.
        self.resource.node.add_dependency(verifier)
        self.s3_uri = self.resource.get_att_string("S3Uri")
        self.digest = self.resource.get_att_string("Digest")


class _Verifier(Construct):
    """The function that verifies, once in a stack."""

    @classmethod
    def of_stack(cls, scope: Construct) -> _Verifier:
        stack = Stack.of(scope)
        existing = stack.node.try_find_child("VerifiedGgufFunction")
        return existing if isinstance(existing, cls) else cls(stack, "VerifiedGgufFunction")

    def __init__(self, scope: Construct, id: str) -> None:
        super().__init__(scope, id)
        with lambda_folder("verified_gguf") as folder:
            self._function = python_function(
                self,
                "Function",
                code=lambda_.Code.from_asset(str(folder)),
                handler="handler.handler",
                timeout=Duration.minutes(15),
                # One whole CPU: SHA-256 is what it does.
                memory_mib=1769,
            )
        self.service_token = self._function.function_arn

    def allow(self, bucket: s3.IBucket, prefix: str) -> None:
        """Let the function read this model. A version of an object, once pinned, cannot change under the hash."""
        self._function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["s3:GetObject", "s3:GetObjectVersion"],
                resources=[bucket.arn_for_objects(f"{every_digest(prefix)}*")],
            )
        )
        # Without it a missing file reads as "access denied" (no condition: a GetObject has no s3:prefix).
        self._function.add_to_role_policy(iam.PolicyStatement(actions=["s3:ListBucket"], resources=[bucket.bucket_arn]))
        if bucket.encryption_key:
            bucket.encryption_key.grant_decrypt(self._function)
