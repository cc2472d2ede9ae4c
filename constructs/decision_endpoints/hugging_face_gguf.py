"""A model in a repository of Hugging Face, or of a mirror."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_iam as iam
from constructs import Construct

from decision_provenance.gguf import GgufFacts
from decision_provenance.hub import HUB, parse_endpoint, parse_folder, parse_repository, parse_revision
from decision_provenance.manifest import PackagedFile, package_digest

from .pin import BoundSource, Location, in_order, pin_rules, refuse_unless


@dataclass(frozen=True, slots=True, kw_only=True)
class HuggingFaceTokenizer:
    """The files of a tokenizer, packaged with a model that comes from another repository.

    A GGUF file has its tokenizer within: these are for other tools that read the package.

    Parameters
    ----------
    repository, revision:
        As in `HuggingFaceGguf`.
    files:
        The files, with SHA-256 and bytes, from the repository's top.

    Examples
    --------
    >>> HuggingFaceTokenizer(
    ...     repository="Qwen/Qwen3.5-4B",
    ...     revision="851bf6e806efd8d0a36b00ddf55e13ccb7b8cd0a",
    ...     files=[PackagedFile("tokenizer.json", sha256="13c16f42" * 8, bytes=113_000)],
    ... ).files[0].name
    'tokenizer.json'
    """

    repository: str
    revision: str
    files: Sequence[PackagedFile]


@dataclass(frozen=True, slots=True, kw_only=True)
class HuggingFaceGguf:
    """GGUF files of a Hugging Face repository at one commit, fetched by the packaging build.

    The build reads without an account. Put a gated or private model into a bucket (`S3Gguf`) or beside the app
    (`LocalGguf`).

    Parameters
    ----------
    repository:
        ``owner/name``.
    revision:
        The full commit, 40 hex digits. Branches and tags move, and are refused.
    name:
        The model's name, in S3 keys and logs: letters, digits and ``. _ -``, the first a letter or digit, at
        most 64 characters.
    files:
        The model's files in shard order, each with SHA-256 and bytes: a file's page shows both.
    facts:
        What the header says, so that a synth can check whether the settings suit the model.
    folder:
        The folder of the repository that the files lie in, such as ``"Q8_0"``. Default: its top.
    tokenizer:
        Files of a tokenizer to package with the model. Default: none.
    endpoint:
        A mirror's address, ``https://…``. Default: Hugging Face itself.

    Raises
    ------
    InvalidArguments
        If the pin is malformed.

    Examples
    --------
    >>> HuggingFaceGguf(
    ...     repository="bartowski/Qwen_Qwen3.5-4B-GGUF",
    ...     revision="main",
    ...     name="qwen",
    ...     files=QWEN3_5_4B.files,
    ...     facts=QWEN3_5_4B.facts,
    ... )
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: HuggingFaceGguf: revision is 'main': give the full commit, ...
    """

    repository: str
    revision: str
    name: str
    files: Sequence[PackagedFile]
    facts: GgufFacts
    folder: str = ""
    tokenizer: HuggingFaceTokenizer | None = None
    endpoint: str = HUB

    def __post_init__(self) -> None:
        files, tokenizer = tuple(self.files), self.tokenizer
        rules = [
            lambda: parse_repository(self.repository),
            lambda: parse_revision(self.revision),
            *pin_rules(self.name, files, tokenizer.files if tokenizer else ()),
            lambda: parse_folder(self.folder),
            lambda: parse_endpoint(self.endpoint),
        ]
        if tokenizer:
            rules += [
                lambda: parse_repository(tokenizer.repository, what="the tokenizer's repository"),
                lambda: parse_revision(tokenizer.revision, what="the tokenizer's revision"),
            ]
        refuse_unless("HuggingFaceGguf", rules)
        object.__setattr__(self, "files", files)
        object.__setattr__(self, "endpoint", parse_endpoint(self.endpoint))

    @property
    def tokenizer_files(self) -> tuple[PackagedFile, ...]:
        """The tokenizer's files, by name."""
        return in_order(self.tokenizer.files) if self.tokenizer else ()

    @property
    def model_digest(self) -> str:
        """The digest of the model's files: of a single one, its own SHA-256."""
        return package_digest(self.files)

    @property
    def digest(self) -> str:
        """The digest of the package, tokenizer files included."""
        return package_digest((*self.files, *self.tokenizer_files))

    def bind(self, scope: Construct, *, reader: iam.IGrantable) -> BoundSource:
        """What the packaging job is told; there is nothing to grant."""
        location: Location = {
            "kind": "huggingface",
            "repository": self.repository,
            "revision": self.revision,
            "folder": self.folder,
            "endpoint": self.endpoint,
        }
        if self.tokenizer:
            location["tokenizer"] = {"repository": self.tokenizer.repository, "revision": self.tokenizer.revision}
        return BoundSource(location=location)
