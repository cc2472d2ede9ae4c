"""A model on the machine that deploys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aws_cdk import Annotations, Aws, FileAssetLocation, FileAssetPackaging, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from decision_provenance.digest import hash_file
from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import PackagedFile, package_digest

from .errors import InvalidArguments
from .pin import BoundSource, Rule, in_order, pin_rules, refuse_unless


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalGguf:
    """GGUF files on the machine that deploys, uploaded through the CDK's own asset bucket.

    The template depends on the pin alone. Where a file is absent, as in the fresh clone of a reviewer, the synth still
    gives the same template, with an error annotation that keeps the CDK CLI from deploying it.

    Parameters
    ----------
    path:
        The model's file, or its first shard, which the others lie beside. A relative path counts from the working
        directory.
    name:
        The model's name, in S3 keys and logs: letters, digits and ``. _ -``, the first a letter or digit, at
        most 64 characters.
    facts:
        What the header says, so that a synth without the file can check whether the settings suit the model.
    sha256:
        SHA-256 of a model in one file, 64 hex digits, in upper or lower case.
    bytes:
        Its size in bytes.
    shards:
        For a model in several files, instead of `sha256` and `bytes`: all of them, in order. Default: one file.
    tokenizer_files:
        Further files beside it that are packaged with the model; llama.cpp needs none. Default: none.

    Raises
    ------
    InvalidArguments
        If the pin is malformed; when bound to a stack: if a file is not the pinned one.

    Examples
    --------
    >>> from pathlib import Path
    >>> pin = LocalGguf(path=Path("tiny.gguf"), name="tiny", sha256="13C16F42" * 8, bytes=113_000, facts=tiny_facts)
    >>> pin.files[0].sha256
    '13c16f4213c16f4213c16f4213c16f4213c16f4213c16f4213c16f4213c16f42'
    >>> LocalGguf(path=Path("tiny.gguf"), name="Tiny!", sha256="13c16f42", bytes=0, facts=tiny_facts)
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: LocalGguf: tiny.gguf has 0 bytes: ...; model name 'Tiny!': ...
    """

    path: Path
    name: str
    facts: GgufFacts
    sha256: str | None = None
    bytes: int | None = None
    shards: Sequence[PackagedFile] = ()
    tokenizer_files: Sequence[PackagedFile] = ()

    def __post_init__(self) -> None:
        whole = self.sha256 is not None and self.bytes is not None
        rules: list[Rule] = [
            self._refuse_other_than_one_pin,
            lambda: self.files if whole else (),
            *pin_rules(self.name, self._named_files(), self.tokenizer_files),
        ]
        refuse_unless("LocalGguf", rules)
        object.__setattr__(self, "shards", tuple(self.shards))
        object.__setattr__(self, "tokenizer_files", in_order(self.tokenizer_files))

    @property
    def files(self) -> tuple[PackagedFile, ...]:
        """The model's files, in shard order."""
        if self.shards:
            return tuple(self.shards)
        return (PackagedFile(name=self.path.name, sha256=self.sha256 or "", bytes=self.bytes or 0),)

    @property
    def model_digest(self) -> str:
        """The digest of the model's files: of a single one, its own SHA-256."""
        return package_digest(self.files)

    @property
    def digest(self) -> str:
        """The digest of the package, tokenizer files included."""
        return package_digest((*self.files, *self.tokenizer_files))

    def bind(self, scope: Construct, *, reader: iam.IGrantable) -> BoundSource:
        """Check the files, have the CLI upload them before the stack of `scope` deploys, and let `reader` read them."""
        files = (*self.files, *self.tokenizer_files)
        self._check(scope, files)
        uploads = {file.name: self._upload(scope, file) for file in files}
        bucket = next(iter(uploads.values())).bucket_name
        iam.Grant.add_to_principal(
            grantee=reader,
            # The bucket is versioned, and the build insists on the version that it looked at first.
            actions=["s3:GetObject", "s3:GetObjectVersion"],
            resource_arns=[f"arn:{Aws.PARTITION}:s3:::{bucket}/{upload.object_key}" for upload in uploads.values()],
        )
        keys = {name: upload.object_key for name, upload in uploads.items()}
        return BoundSource(location={"kind": "local", "bucket": bucket, "keys": keys})

    def _refuse_other_than_one_pin(self) -> None:
        given = {"sha256": self.sha256 is not None, "bytes": self.bytes is not None}
        if self.shards and any(given.values()):
            also = " and ".join(name for name in given if given[name])
            raise ValueError(f"shards is given and {also} as well: give sha256 and bytes in each shard")
        if not self.shards and not all(given.values()):
            missing = " and ".join(name for name in given if not given[name])
            raise ValueError(f"missing is {missing}: give sha256 and bytes of one file, or the list shards")
        if self.shards and self.path.name != self.shards[0].name:
            raise ValueError(f"path is {self.path} and the first of shards {self.shards[0].name}: give the first one's")

    def _named_files(self) -> Sequence[PackagedFile]:
        """Files with the names that were given, if these can be looked at; their own rules are other complaints."""
        try:
            return self.shards or [PackagedFile(name=self.path.name, sha256="0" * 64, bytes=1)]
        except ValueError:
            return [PackagedFile(name="model.gguf", sha256="0" * 64, bytes=1)]

    def _upload(self, scope: Construct, file: PackagedFile) -> FileAssetLocation:
        return Stack.of(scope).synthesizer.add_file_asset(
            # The pin, not a hash of the file, names the asset: the template is the same where the file is absent.
            source_hash=file.sha256,
            file_name=str(self._path_of(file).absolute()),
            packaging=FileAssetPackaging.FILE,
            display_name=file.name,
        )

    def _check(self, scope: Construct, files: Sequence[PackagedFile]) -> None:
        complaints = []
        for file in files:
            path = self._path_of(file)
            if not path.is_file():
                what_to_do = "put it there, correct the path or, if it is the sample, run `make sample-model`"
                Annotations.of(scope).add_error(f"The model file {path} was not found: {what_to_do}.")
                continue
            found = hash_file(path)
            if (found.sha256, found.bytes) != (file.sha256, file.bytes):
                is_ = f"{path} has SHA-256 {found.sha256} and {found.bytes:,} bytes"
                pinned = f"the pin says {file.sha256} and {file.bytes:,}"
                complaints.append(f"{is_}, {pinned}: fetch the file again or correct the pin")
        if complaints:
            raise InvalidArguments("LocalGguf", complaints)

    def _path_of(self, file: PackagedFile) -> Path:
        return self.path if file.name == self.path.name else self.path.parent / file.name
