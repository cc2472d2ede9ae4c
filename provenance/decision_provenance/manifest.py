"""What a model package says of itself: `model-manifest.json` beside the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from decision_provenance.gguf import GgufFacts
from decision_provenance.pin import (
    ARCHIVE_NAME,
    MANIFEST_NAME,
    MODELS_PREFIX,
    PackagedFile,
    model_files,
    model_prefix,
    package_digest,
    read_pin,
    refuse_other_than_one_model,
)

__all__ = [
    "ARCHIVE_NAME",
    "MANIFEST_LIMIT_BYTES",
    "MANIFEST_NAME",
    "MODELS_PREFIX",
    "Manifest",
    "PackagedFile",
    "model_files",
    "model_prefix",
    "package_digest",
    "read_pin",
]

MANIFEST_LIMIT_BYTES = 1 << 20

_FORMAT = 1
_FIELDS = ("digest", "facts", "files", "format", "name", "source", "tools")


@dataclass(frozen=True)
class Manifest:
    """A package's own description. The same inputs give the same bytes: it holds no time, account or machine.

    Parameters
    ----------
    name:
        The model's name in key prefixes.
    source:
        Where the files came from, such as `{"kind": "local"}`; nothing that depends on who packaged them.
    files:
        The model's files in shard order, then its tokenizer's by name.
    facts:
        What the GGUF header says.
    tools:
        Versions of what changed the bytes on the way; empty where nothing did. What only moved the bytes is left out:
        two people with two versions of it make the same package.

    Examples
    --------
    >>> facts = GgufFacts(version=3, architecture="llama")
    >>> manifest = Manifest("tiny", {"kind": "local"}, (PackagedFile("m.gguf", "ab" * 32, 5),), facts, {})
    >>> Manifest.from_bytes(manifest.to_bytes()) == manifest
    True
    """

    name: str
    source: dict[str, str]
    files: tuple[PackagedFile, ...]
    facts: GgufFacts
    tools: dict[str, str]

    def __post_init__(self) -> None:
        model_prefix(self.name, self.digest)
        refuse_other_than_one_model(self.files, where="the manifest")

    @property
    def digest(self) -> str:
        """The package digest, see `package_digest`."""
        return package_digest(self.files)

    @property
    def prefix(self) -> str:
        """The key prefix of the package, ending in `/`."""
        return model_prefix(self.name, self.digest)

    def to_bytes(self) -> bytes:
        """The file's content: JSON with sorted names and a newline at the end."""
        document = {
            "digest": self.digest,
            "facts": self.facts.to_json(),
            "files": [file.to_json() for file in self.files],
            "format": _FORMAT,
            "name": self.name,
            "source": self.source,
            "tools": self.tools,
        }
        return (json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """Read `to_bytes`' content.

        Raises
        ------
        ValueError
            If it is anything else; the text says what.
        """
        document = _read_document(content)
        digest = document["digest"]
        files = document["files"]
        facts = document["facts"]
        if not isinstance(files, list) or not isinstance(facts, dict) or not isinstance(document["name"], str):
            raise ValueError(  # noqa: TRY004 - malformed content, not a wrong call
                "a model manifest has a text `name`, a list `files` and an object `facts`: package the model again"
            )
        manifest = cls(
            name=document["name"],
            source=_texts(document["source"], "source"),
            files=tuple(PackagedFile.from_json(file) for file in files),
            facts=GgufFacts.from_json(facts),
            tools=_texts(document["tools"], "tools"),
        )
        if digest != manifest.digest:
            raise ValueError(
                f"a model manifest says digest {digest!r:.80}, its files make {manifest.digest}: package it again"
            )
        return manifest


def _read_document(content: bytes) -> Mapping[str, object]:
    if len(content) > MANIFEST_LIMIT_BYTES:
        raise ValueError(f"a model manifest of {len(content)} bytes: at most {MANIFEST_LIMIT_BYTES} are read")
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"a model manifest is not JSON ({error}): package the model again") from None
    if not isinstance(document, dict) or document.get("format") != _FORMAT or set(document) != set(_FIELDS):
        found = sorted(document) if isinstance(document, dict) else document
        raise ValueError(
            f"a model manifest is {found!r:.200}: it must be an object of {', '.join(_FIELDS)} with format {_FORMAT}"
        )
    return document


def _texts(document: object, what: str) -> dict[str, str]:
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise ValueError(f"`{what}` of a model manifest is {document!r:.200}: it must be an object of texts")
    return cast("dict[str, str]", document)
