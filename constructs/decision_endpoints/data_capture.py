"""Requests and answers that SageMaker keeps in S3."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk import aws_sagemaker as sagemaker

from .errors import InvalidArguments
from .ranges import count_complaints

# What needs no escaping in an S3 URI.
_PREFIX = re.compile(r"[A-Za-z0-9!_.'()-]+(/[A-Za-z0-9!_.'()-]+)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class DataCapture:
    """A copy of requests and answers, with the callers' text, as JSON lines in S3.

    SageMaker writes ``<prefix>/<endpoint>/<variant>/<year>/<month>/<day>/<hour>/…jsonl``. Choose a bucket whose readers
    may see that text, with a lifecycle rule that ends it.

    Parameters
    ----------
    bucket:
        Where to. Its key, if it has one, is used.
    prefix:
        Under which keys, without a slash at the ends: ``"captured"``.
    percentage:
        How many of a hundred requests, 1 to 100. Default: 100.
    input, output:
        Whether to keep the requests and the answers; at least one of them. Default: both.

    Raises
    ------
    InvalidArguments
        If an argument is out of range.

    Examples
    --------
    >>> DataCapture(bucket=bucket, prefix="captured", percentage=10).percentage
    10
    >>> DataCapture(bucket=bucket, prefix="/captured/", percentage=0)
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: DataCapture: prefix is '/captured/': ...; percentage is 0: ...

    Source: Amazon SageMaker API reference, "DataCaptureConfig"; developer guide, "Capture data from real-time
    endpoint".
    """

    bucket: s3.IBucket
    prefix: str
    percentage: int = 100
    input: bool = True
    output: bool = True

    def __post_init__(self) -> None:
        complaints = []
        if not _PREFIX.fullmatch(self.prefix):
            allowed = "give words of letters, digits and . _ -, with slashes between them only"
            complaints.append(f"prefix is {self.prefix!r}: {allowed}")
        complaints += count_complaints("percentage", self.percentage, least=1, most=100)
        if not (self.input or self.output):
            complaints.append("neither input nor output is captured: take one of them, or give no data_capture")
        if complaints:
            raise InvalidArguments("DataCapture", complaints)

    @property
    def config(self) -> sagemaker.CfnEndpointConfig.DataCaptureConfigProperty:
        """What the endpoint config is told."""
        modes = [mode for mode, kept in (("Input", self.input), ("Output", self.output)) if kept]
        key = self.bucket.encryption_key
        return sagemaker.CfnEndpointConfig.DataCaptureConfigProperty(
            enable_capture=True,
            initial_sampling_percentage=self.percentage,
            destination_s3_uri=self.bucket.s3_url_for_object(self.prefix),
            kms_key_id=key.key_arn if key else None,
            capture_options=[sagemaker.CfnEndpointConfig.CaptureOptionProperty(capture_mode=mode) for mode in modes],
            # Of any other type it keeps base64.
            capture_content_type_header=sagemaker.CfnEndpointConfig.CaptureContentTypeHeaderProperty(
                json_content_types=["application/json"]
            ),
        )

    def grant_write(self, role: iam.IRole) -> None:
        """Let SageMaker, as `role`, write under the prefix."""
        role.add_to_principal_policy(
            iam.PolicyStatement(actions=["s3:PutObject"], resources=[self.bucket.arn_for_objects(f"{self.prefix}/*")])
        )
        if self.bucket.encryption_key:
            # Decrypt: a large object goes up in parts.
            self.bucket.encryption_key.grant(role, "kms:GenerateDataKey", "kms:Decrypt")
