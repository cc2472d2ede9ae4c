"""Where a model comes from. A source is a pin: it says which bytes, and the deploy refuses any others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from aws_cdk import Annotations, Aws, FileAssetPackaging, Stack
from aws_cdk import aws_iam as iam
from constructs import Construct

from decision_provenance.digest import hash_file, parse_sha256
from decision_provenance.manifest import PackagedFile, model_prefix, package_digest
from decision_provenance.model_folder import pick_model

from .errors import InvalidArguments

if TYPE_CHECKING:
    from decision_provenance.gguf import GgufFacts


@dataclass(frozen=True, slots=True)
class BoundSource:
    """A source as a stack sees it: what the packaging job is told in `SOURCE`."""

    location: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalGguf:
    """A single GGUF file on the machine that deploys, uploaded through the CDK's own asset bucket.

    The template depends on the pin alone. Where the file is absent, as in the fresh clone of a reviewer, the synth
    still gives the same template, with an error annotation that keeps the CDK CLI from deploying it.

    Parameters
    ----------
    path:
        The file, a whole model in one ``.gguf``. A relative path counts from the working directory.
    name:
        The model's name, in S3 keys and logs: letters, digits and ``. _ -``, the first a letter or digit, at
        most 64 characters.
    sha256:
        Its SHA-256, 64 hex digits, in upper or lower case.
    bytes:
        Its size in bytes.
    facts:
        What its header says, so that a synth without the file can check whether the settings suit the model.

    Raises
    ------
    InvalidArguments
        If the pin is malformed; when bound to a stack: if the file at `path` is not the pinned one.

    Examples
    --------
    >>> from pathlib import Path
    >>> pin = LocalGguf(path=Path("tiny.gguf"), name="tiny", sha256="13C16F42" * 8, bytes=113_000, facts=tiny_facts)
    >>> pin.files[0].sha256
    '13c16f4213c16f4213c16f4213c16f4213c16f4213c16f4213c16f4213c16f42'
    >>> LocalGguf(path=Path("tiny.gguf"), name="Tiny!", sha256="13c16f42", bytes=0, facts=tiny_facts)
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: LocalGguf: model name 'Tiny!': ...
    """

    path: Path
    name: str
    sha256: str
    bytes: int
    facts: GgufFacts

    def __post_init__(self) -> None:
        # The rules of the packaging build, before anything is uploaded for it to refuse.
        rules: list[Callable[[], object]] = [
            lambda: model_prefix(self.name, "0" * 64),
            lambda: PackagedFile(name=self.path.name, sha256="0" * 64, bytes=self.bytes),
            lambda: parse_sha256(self.sha256, what="sha256"),
            lambda: _refuse_parts(self.path),
        ]
        complaints = []
        for rule in rules:
            try:
                rule()
            except ValueError as refused:
                complaints.append(str(refused))
        if complaints:
            raise InvalidArguments("LocalGguf", complaints)
        object.__setattr__(self, "sha256", self.sha256.lower())

    @property
    def files(self) -> tuple[PackagedFile, ...]:
        """The files of the package, in shard order."""
        return (PackagedFile(name=self.path.name, sha256=self.sha256, bytes=self.bytes),)

    @property
    def digest(self) -> str:
        """The package digest: for a single file, the file's own SHA-256."""
        return package_digest(self.files)

    def bind(self, scope: Construct, *, reader: iam.IGrantable) -> BoundSource:
        """Check the file, have the CLI upload it before the stack of `scope` deploys, and let `reader` read it."""
        self._check_file(scope)
        location = Stack.of(scope).synthesizer.add_file_asset(
            # The pin, not a hash of the file, names the asset: the template is the same where the file is absent.
            source_hash=self.sha256,
            file_name=str(self.path.absolute()),
            packaging=FileAssetPackaging.FILE,
            display_name=self.path.name,
        )
        iam.Grant.add_to_principal(
            grantee=reader,
            # The bucket is versioned, and the build insists on the version that it looked at first.
            actions=["s3:GetObject", "s3:GetObjectVersion"],
            resource_arns=[f"arn:{Aws.PARTITION}:s3:::{location.bucket_name}/{location.object_key}"],
        )
        return BoundSource(
            location={
                "kind": "local",
                "bucket": location.bucket_name,
                "key": location.object_key,
                "file": self.path.name,
            }
        )

    def _check_file(self, scope: Construct) -> None:
        if not self.path.is_file():
            what_to_do = "put it there, correct the path or, if it is the sample, run `make sample-model`"
            Annotations.of(scope).add_error(f"The model file {self.path} was not found: {what_to_do}.")
            return
        found = hash_file(self.path)
        if (found.sha256, found.bytes) != (self.sha256, self.bytes):
            is_ = f"{self.path} has SHA-256 {found.sha256} and {found.bytes:,} bytes"
            pinned = f"the pin says {self.sha256} and {self.bytes:,}"
            raise InvalidArguments("LocalGguf", [f"{is_}, {pinned}: fetch the file again or correct the pin"])


def _refuse_parts(path: Path) -> None:
    try:
        pick_model([path.name], where="path")
    except ValueError as refused:
        allowed = "give a whole model in one .gguf file (`llama-gguf-split --merge` makes one of shards)"
        raise ValueError(f"path is {path}, which is no model or a part of one: {allowed}") from refused
