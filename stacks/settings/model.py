"""Which model, where it comes from, and the pin it must match."""

from __future__ import annotations

from dataclasses import MISSING, fields
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from decision_endpoints import HuggingFaceGguf, HuggingFaceTokenizer, LocalGguf, S3Gguf
from decision_endpoints.errors import did_you_mean
from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import PackagedFile

from .section import Section, exactly_one_of, without_unset


def _read_facts(value: object) -> object:
    """Facts that were left out are unknown; names that no header has are refused."""
    if not isinstance(value, dict):
        return value
    defaults = {field.name: None if field.default is MISSING else field.default for field in fields(GgufFacts)}
    unknown = [f"{name} is no fact: {did_you_mean(str(name), defaults)}" for name in value if name not in defaults]
    if unknown:
        raise ValueError("; ".join(unknown))
    return GgufFacts.from_json(defaults | value)


Facts = Annotated[GgufFacts, BeforeValidator(_read_facts)]


class File(Section):
    """One file of a pin."""

    name: str
    sha256: str
    bytes: int

    def packaged(self) -> PackagedFile:
        """As a source takes it."""
        return PackagedFile(name=self.name, sha256=self.sha256, bytes=self.bytes)


class LocalSource(Section):
    """A GGUF file on the machine that deploys, or the first shard of a split one with all its `shards`."""

    path: str
    sha256: str | None = None
    bytes: int | None = None
    shards: list[File] | None = None
    facts: Facts


class Tokenizer(Section):
    """A tokenizer's files, in a Hugging Face repository of their own."""

    repository: str
    revision: str
    files: list[File]

    def tokenizer(self) -> HuggingFaceTokenizer:
        """As a source takes it."""
        return HuggingFaceTokenizer(repository=self.repository, revision=self.revision, files=_packaged(self.files))


class HuggingFaceSource(Section):
    """Files of a Hugging Face repository at one revision."""

    repository: str
    revision: str
    files: list[File]
    facts: Facts
    folder: str | None = None
    tokenizer: Tokenizer | None = None
    endpoint: str | None = None


class S3Source(Section):
    """Files under a prefix of a bucket."""

    bucket: str
    prefix: str
    files: list[File]
    facts: Facts


class Source(Section):
    """Exactly one of the three."""

    local: LocalSource | None = None
    hugging_face: HuggingFaceSource | None = None
    s3: S3Source | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        exactly_one_of(self, "local", "hugging_face", "s3")
        return self


class Model(Section):
    """The model, its name in S3 keys and logs, and whether it is packed into one ``model.tar.gz``."""

    name: str
    source: Source
    archive: bool = False

    @model_validator(mode="after")
    def _is_a_pin(self) -> Self:
        self.gguf(Path())
        return self

    def gguf(self, root: Path) -> HuggingFaceGguf | LocalGguf | S3Gguf:
        """The pin; a relative path counts from `root`."""
        if (local := self.source.local) is not None:
            return LocalGguf(
                path=root / local.path,
                name=self.name,
                sha256=local.sha256,
                bytes=local.bytes,
                shards=_packaged(local.shards or []),
                facts=local.facts,
            )
        if (s3 := self.source.s3) is not None:
            return S3Gguf(bucket=s3.bucket, prefix=s3.prefix, name=self.name, files=_packaged(s3.files), facts=s3.facts)
        assert self.source.hugging_face is not None  # noqa: S101 - exactly one of the three is given
        return self._hugging_face(self.source.hugging_face)

    def _hugging_face(self, source: HuggingFaceSource) -> HuggingFaceGguf:
        tokenizer = source.tokenizer.tokenizer() if source.tokenizer else None
        optional: dict[str, Any] = without_unset({"endpoint": source.endpoint, "folder": source.folder})
        return HuggingFaceGguf(
            repository=source.repository,
            revision=source.revision,
            name=self.name,
            files=_packaged(source.files),
            facts=source.facts,
            tokenizer=tokenizer,
            **optional,
        )


def _packaged(files: list[File]) -> tuple[PackagedFile, ...]:
    return tuple(file.packaged() for file in files)
