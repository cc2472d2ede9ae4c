"""What a model package says of itself: `model-manifest.json` beside the model, and the key prefix of both."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from decision_provenance.digest import parse_sha256
from decision_provenance.gguf import GgufFacts
from decision_provenance.model_folder import pick_model

MANIFEST_NAME = "model-manifest.json"
MODELS_PREFIX = "models/"
MANIFEST_LIMIT_BYTES = 1 << 20

_FORMAT = 1
_FIELDS = ("digest", "facts", "files", "format", "name", "source", "tools")
_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]{0,199}")


@dataclass(frozen=True)
class PackagedFile:
    """One file of a package: its name, SHA-256 (any case is taken, lower case is kept) and length in bytes.

    Raises
    ------
    ValueError
        If the name is not one that every file system, shell and URL takes as it is, or a value is malformed.

    Examples
    --------
    >>> PackagedFile("model.gguf", "AB" * 32, 113000).sha256[:4]
    'abab'
    """

    name: str
    sha256: str
    bytes: int

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _FILE_NAME.fullmatch(self.name):
            raise ValueError(
                f"file name {self.name!r:.220}: allowed are 1 to 200 of A-Z a-z 0-9 . _ + = @ -, "
                "the first a letter or digit: rename the file"
            )
        if not isinstance(self.bytes, int) or isinstance(self.bytes, bool) or self.bytes < 1:
            raise ValueError(
                f"{self.name} has {self.bytes!r} bytes: give the file's length, a whole number of at least 1"
            )
        object.__setattr__(self, "sha256", parse_sha256(self.sha256, what=f"SHA-256 of {self.name}"))

    def to_json(self) -> dict[str, str | int]:
        """The file as a JSON object, as pins and manifests hold it."""
        return {"name": self.name, "sha256": self.sha256, "bytes": self.bytes}

    @classmethod
    def from_json(cls, document: object) -> PackagedFile:
        """The file of `to_json`'s object; ValueError says what is wrong with any other."""
        if not isinstance(document, dict) or set(document) != {"name", "sha256", "bytes"}:
            raise ValueError(
                f"a packaged file is {document!r:.200}: it must be an object of name, sha256 and bytes, no more"
            )
        return cls(name=document["name"], sha256=document["sha256"], bytes=document["bytes"])


def package_digest(files: Sequence[PackagedFile]) -> str:
    """What a package is called by: the SHA-256 of its file, or of the shards' `sha256sum` listing.

    Parameters
    ----------
    files:
        All files of one model in shard order.

    Examples
    --------
    >>> one = PackagedFile("model.gguf", "ab" * 32, 5)
    >>> package_digest([one]) == one.sha256
    True
    """
    if len(files) == 1:
        return files[0].sha256
    listing = "".join(f"{file.sha256}  {file.name}\n" for file in files)
    return hashlib.sha256(listing.encode()).hexdigest()


def read_pin(text: str) -> tuple[PackagedFile, ...]:
    """Read a pin: the JSON list of the files a model must have, in shard order.

    Raises
    ------
    ValueError
        If it is no such list, or the files are not exactly one whole model.

    Examples
    --------
    >>> read_pin('[{"name": "m.gguf", "sha256": "' + "AB" * 32 + '", "bytes": 5}]')[0].name
    'm.gguf'
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"the pin is not JSON ({error}): give a list of objects with name, sha256 and bytes") from None
    if not isinstance(document, list):  # malformed text, not a wrong call
        raise ValueError(  # noqa: TRY004
            f"the pin is {document!r:.200}: give a list of objects with name, sha256 and bytes"
        )
    files = tuple(PackagedFile.from_json(entry) for entry in document)
    _refuse_other_than_one_model(files, "the pin")
    return files


def model_prefix(name: str, digest: str) -> str:
    """The key prefix of one package: its digest is in it, so other bytes can never appear under the same key.

    Examples
    --------
    >>> model_prefix("qwen3.5-4b", "13C16F42" * 8)[:32]
    'models/qwen3.5-4b/13c16f4213c16f'
    """
    if not _MODEL_NAME.fullmatch(name):
        raise ValueError(
            f"model name {name!r:.80}: allowed are 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit"
        )
    return f"{MODELS_PREFIX}{name}/{parse_sha256(digest)}/"


@dataclass(frozen=True)
class Manifest:
    """A package's own description. The same inputs give the same bytes: it holds no time, account or machine.

    Parameters
    ----------
    name:
        The model's name in key prefixes.
    source:
        Where the files came from, such as `{"kind": "local", "file": "model.gguf"}`.
    files:
        The model's files in shard order.
    facts:
        What the GGUF header says.
    tools:
        Versions of what changed the bytes on the way; empty where nothing did.

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
        _refuse_other_than_one_model(self.files, "the manifest")

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


def _refuse_other_than_one_model(files: Sequence[PackagedFile], where: str) -> None:
    names = tuple(file.name for file in files)
    ordered = pick_model(names, where=where)
    if names != ordered:
        raise ValueError(
            f"{where} lists {', '.join(names)}: list exactly the model's files, in this order: {', '.join(ordered)}"
        )
