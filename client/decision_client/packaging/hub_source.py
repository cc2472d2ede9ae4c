"""A model of Hugging Face, or of a mirror that answers alike."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from decision_client.packaging.hub_download import HubFile, download
from decision_provenance.hub import parse_endpoint, parse_folder, parse_repository, parse_revision
from decision_provenance.manifest import PackagedFile

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@dataclass(frozen=True)
class HubCommit:
    """A repository at one commit; ValueError if it is anything else."""

    repository: str
    revision: str

    def __post_init__(self) -> None:
        parse_repository(self.repository)
        parse_revision(self.revision)


@dataclass(frozen=True)
class HubSource:
    """The model's files are in `folder` of `model`, those of its tokenizer at the top of `tokenizer`."""

    endpoint: str
    model: HubCommit
    folder: str = ""
    tokenizer: HubCommit | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "endpoint", parse_endpoint(self.endpoint))
        parse_folder(self.folder)

    def describe(self) -> dict[str, str]:
        """What the manifest says of the source. A mirror gives the same bytes, so that its name is no part of it."""
        described = {"kind": "huggingface", "repository": self.model.repository, "revision": self.model.revision}
        if self.folder:
            described["folder"] = self.folder
        if self.tokenizer:
            described["tokenizer_repository"] = self.tokenizer.repository
            described["tokenizer_revision"] = self.tokenizer.revision
        return described

    def read(
        self,
        file: PackagedFile,
        s3: S3Client,
        say: Callable[[str], None],
    ) -> Generator[bytes, None, None]:
        """The bytes of `file`; see `download`."""
        # A tokenizer has no .gguf file: the pin's rules see to that.
        if self.tokenizer and not file.name.endswith(".gguf"):
            commit, path = self.tokenizer, file.name
        else:
            commit, path = self.model, f"{self.folder}/{file.name}".removeprefix("/")
        return download(HubFile(self.endpoint, commit.repository, commit.revision, path, file.bytes), say=say)
