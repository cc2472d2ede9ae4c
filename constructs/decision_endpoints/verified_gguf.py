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
from decision_provenance.verification_record import record_key

from .artifact_store import VERIFIER_ROLE_PATH, ArtifactStore
from .assets import lambda_folder
from .errors import InvalidArguments
from .functions import every_digest, python_function


class VerifiedGguf(Construct):
    """Hashes a model's files in S3 during the deploy, compares them with the pin, then reads the GGUF headers.

    Whatever takes its `s3_uri` from here cannot exist before the bytes were verified. In an `ArtifactStore` it leaves a
    record of the object versions that it read, and as long as exactly these lie there, it returns the record and
    reads no model again: so a rollback takes seconds. Every `VerifiedGguf` of a stack shares one function, which reads
    in chunks, at most for the 15 minutes a function has: about 70 GB.

    Parameters
    ----------
    store:
        Where the files are: an `ArtifactStore`, or any bucket. Nothing keeps others from writing a record into any
        bucket, so there every deploy that calls it reads the model anew.
    prefix:
        The key prefix of the files; it ends in ``/``.
    files:
        The pin: the model's files in shard order, then its tokenizer's by name.
    archive:
        Name of the one ``.tar.gz`` under the prefix that holds the files. Default: they lie there as they are.

    Attributes
    ----------
    resource:
        The custom resource; further facts of the header are its attributes:
        ``resource.get_att_string("Architecture")``.
    s3_uri, digest:
        The verified prefix as ``s3://…/``, or its archive as ``s3://…/model.tar.gz``, and the digest that was found.

    Raises
    ------
    InvalidArguments
        If `prefix` or `archive` does not end as it must.

    Examples
    --------
    >>> verified = VerifiedGguf(
    ...     stack,
    ...     "Verified",
    ...     store=bucket,
    ...     prefix="models/tiny/" + "13c16f42" * 8 + "/",
    ...     files=[PackagedFile(name="tiny.gguf", sha256="13c16f42" * 8, bytes=113_000)],
    ... )
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        store: ArtifactStore | s3.IBucket,
        prefix: str,
        files: Sequence[PackagedFile],
        archive: str | None = None,
    ) -> None:
        super().__init__(scope, id)
        self._refuse_other_endings(prefix, archive)
        bucket = store.bucket if isinstance(store, ArtifactStore) else store
        verifier = _Verifier.of_stack(self)
        verifier.allow_reading(bucket, prefix)
        optional = {"Archive": archive} if archive else {}
        if isinstance(store, ArtifactStore):
            verifier.allow_recording(store)
            optional["RecordKey"] = record_key(prefix)
        self.resource = CustomResource(
            self,
            "Resource",
            resource_type="Custom::VerifiedGguf",
            service_token=verifier.service_token,
            properties={
                "Bucket": bucket.bucket_name,
                "Prefix": prefix,
                "Files": json.dumps([file.to_json() for file in files]),
                **optional,
            },
        )
        # The function's permissions too, not only the function.
        self.resource.node.add_dependency(verifier)
        self.s3_uri = self.resource.get_att_string("S3Uri")
        self.digest = self.resource.get_att_string("Digest")

    def _refuse_other_endings(self, prefix: str, archive: str | None) -> None:
        complaints = []
        if not prefix.endswith("/"):
            complaints.append(f"prefix is {prefix!r}: give the package's key prefix, ending in '/'")
        if archive is not None and (not archive.endswith(".tar.gz") or "/" in archive):
            complaints.append(f"archive is {archive!r}: give the name of a .tar.gz directly under the prefix")
        if complaints:
            raise InvalidArguments(f"VerifiedGguf {self.node.path}", complaints)


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
                role_path=VERIFIER_ROLE_PATH,
            )
        self.service_token = self._function.function_arn

    def allow_reading(self, bucket: s3.IBucket, prefix: str) -> None:
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

    def allow_recording(self, store: ArtifactStore) -> None:
        """Let the function write and find the records of this store."""
        store.grant_verify(self._function)
