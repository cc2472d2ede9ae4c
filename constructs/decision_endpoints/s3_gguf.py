"""A model in a bucket."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Aws, Token
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import PackagedFile, package_digest

from .pin import BoundSource, in_order, pin_rules, refuse_unless

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
# Nothing that IAM takes for a wildcard or a variable: the permission is for these keys and no others.
_PREFIX = re.compile(r"([A-Za-z0-9._+=@,:!()'-]+/)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Gguf:
    """GGUF files in a bucket, of this account or another one.

    Parameters
    ----------
    bucket:
        The bucket, or its name. A bucket that is given itself brings its KMS key along; of one that is named the build
        may read the objects only. Another account's bucket must let the packaging role read in its own policy too.
    name:
        The model's name, in S3 keys and logs: letters, digits and ``. _ -``, the first a letter or digit, at
        most 64 characters.
    files:
        The model's files in shard order, each with SHA-256 and bytes.
    facts:
        What the header says, so that a synth can check whether the settings suit the model.
    prefix:
        What precedes the files' names in their keys; it ends in ``/``. Default: nothing.
    tokenizer_files:
        Further files under the prefix that are packaged with the model; llama.cpp needs none. Default: none.

    Raises
    ------
    InvalidArguments
        If the pin is malformed.

    Examples
    --------
    >>> S3Gguf(
    ...     bucket="your-models",
    ...     prefix="incoming/tiny/",
    ...     name="tiny",
    ...     files=[PackagedFile("tiny.gguf", sha256="13c16f42" * 8, bytes=113_000)],
    ...     facts=tiny_facts,
    ... ).digest[:8]
    '13c16f42'
    """

    bucket: s3.IBucket | str
    name: str
    files: Sequence[PackagedFile]
    facts: GgufFacts
    prefix: str = ""
    tokenizer_files: Sequence[PackagedFile] = ()

    def __post_init__(self) -> None:
        files = tuple(self.files)
        rules = [
            self._refuse_other_names,
            self._refuse_other_prefixes,
            *pin_rules(self.name, files, self.tokenizer_files),
        ]
        refuse_unless("S3Gguf", rules)
        object.__setattr__(self, "files", files)
        object.__setattr__(self, "tokenizer_files", in_order(self.tokenizer_files))

    @property
    def model_digest(self) -> str:
        """The digest of the model's files: of a single one, its own SHA-256."""
        return package_digest(self.files)

    @property
    def digest(self) -> str:
        """The digest of the package, tokenizer files included."""
        return package_digest((*self.files, *self.tokenizer_files))

    def bind(self, scope: Construct, *, reader: iam.IGrantable) -> BoundSource:
        """Let `reader` read these objects, and decrypt with the bucket's key."""
        name = self.bucket if isinstance(self.bucket, str) else self.bucket.bucket_name
        bucket_arn = f"arn:{Aws.PARTITION}:s3:::{name}" if isinstance(self.bucket, str) else self.bucket.bucket_arn
        iam.Grant.add_to_principal(
            grantee=reader,
            # Where the bucket is versioned, the build insists on the version that it looked at first.
            actions=["s3:GetObject", "s3:GetObjectVersion"],
            resource_arns=[f"{bucket_arn}/{self.prefix}{file.name}" for file in (*self.files, *self.tokenizer_files)],
        )
        if not isinstance(self.bucket, str) and self.bucket.encryption_key:
            self.bucket.encryption_key.grant_decrypt(reader)
        return BoundSource(location={"kind": "s3", "bucket": name, "prefix": self.prefix})

    def _refuse_other_names(self) -> None:
        if isinstance(self.bucket, str) and not Token.is_unresolved(self.bucket) and not _BUCKET.fullmatch(self.bucket):
            raise ValueError(f"bucket is {self.bucket!r:.100}: give a bucket, or the name of one (no ARN, no s3://)")

    def _refuse_other_prefixes(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            allowed = "letters, digits and . _ + = @ , : ! ( ) ' - between slashes, no slash first, one last"
            raise ValueError(f"prefix is {self.prefix!r:.250}: give {allowed}")
