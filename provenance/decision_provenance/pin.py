"""A pin: which files a package must have, and their digests. Every rule of one stands here.

A template, the packaging build and the verification read the same pin, and must refuse the same ones.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from decision_provenance.digest import parse_sha256
from decision_provenance.model_folder import pick_model

MANIFEST_NAME = "model-manifest.json"
ARCHIVE_NAME = "model.tar.gz"
MODELS_PREFIX = "models/"

_MODEL_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]{0,199}")
_RESERVED = (MANIFEST_NAME, ARCHIVE_NAME)


@dataclass(frozen=True)
class PackagedFile:
    """One file of a package: its name, SHA-256 (any case is taken, lower case is kept) and length in bytes.

    Raises
    ------
    ValueError
        If the name is not one that every file system, shell and URL takes as it is, or a value is malformed; the text
        names everything that is wrong.

    Examples
    --------
    >>> PackagedFile("model.gguf", "AB" * 32, 113000).sha256[:4]
    'abab'
    """

    name: str
    sha256: str
    bytes: int

    def __post_init__(self) -> None:
        complaints = []
        if not isinstance(self.name, str) or not _FILE_NAME.fullmatch(self.name):
            complaints.append(
                f"file name {self.name!r:.220}: allowed are 1 to 200 of A-Z a-z 0-9 . _ + = @ -, "
                "the first a letter or digit: rename the file"
            )
        if not isinstance(self.bytes, int) or isinstance(self.bytes, bool) or self.bytes < 1:
            complaints.append(
                f"{self.name!s:.220} has {self.bytes!r:.80} bytes: give the file's length, a whole number of at least 1"
            )
        try:
            object.__setattr__(self, "sha256", parse_sha256(self.sha256, what=f"SHA-256 of {self.name!s:.220}"))
        except ValueError as refused:
            complaints.append(str(refused))
        if complaints:
            raise ValueError("; ".join(complaints))

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
    """What a package is called by: the SHA-256 of its only file, or of the `sha256sum` listing of its files.

    Parameters
    ----------
    files:
        The model's files in shard order, then the tokenizer's by name. Of the model's files alone, it is the digest
        that an endpoint compares the files with which it loads.

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
    """Read a pin: the JSON list of the files a package must have, the model's in shard order, then the tokenizer's.

    Raises
    ------
    ValueError
        If it is no such list, or the files are not exactly one whole model with the files of its tokenizer.

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
    refuse_other_than_one_model(files, where="the pin")
    return files


def model_files(files: Sequence[PackagedFile]) -> tuple[PackagedFile, ...]:
    """Those files of a pin that are the model, in shard order: what llama.cpp loads.

    Examples
    --------
    >>> model, tokenizer = PackagedFile("m.gguf", "ab" * 32, 5), PackagedFile("tokenizer.json", "cd" * 32, 7)
    >>> [file.name for file in model_files([model, tokenizer])]
    ['m.gguf']
    """
    names = pick_model([file.name for file in files], where="the pin")
    return tuple(file for file in files if file.name in names)


def refuse_other_than_one_model(files: Sequence[PackagedFile], *, where: str) -> None:
    """ValueError unless the files are one whole model in shard order and then, by name, files of a tokenizer.

    `where` is what the error calls the list.
    """
    names = [file.name for file in files]
    model = pick_model(names, where=where)
    others = sorted(set(names) - set(model))
    for name in others:
        if name in _RESERVED or name.lower().endswith(".gguf"):
            raise ValueError(
                f"{where} lists {name}, which is neither part of the model nor a file of its tokenizer: leave it out"
            )
    ordered = [*model, *others]
    if names != ordered:
        raise ValueError(
            f"{where} lists {', '.join(names)}: list exactly the model's files and its tokenizer's, in this order: "
            f"{', '.join(ordered)}"
        )


def model_prefix(name: str, digest: str, *, archived: bool = False) -> str:
    """The key prefix of one package: its digest is in it, so other bytes can never appear under the same key.

    A package that is one archive has a prefix of its own beside that of the same files as they are.

    Examples
    --------
    >>> model_prefix("qwen3.5-4b", "13C16F42" * 8)[:32]
    'models/qwen3.5-4b/13c16f4213c16f'
    >>> model_prefix("qwen3.5-4b", "13C16F42" * 8, archived=True)[-13:]
    '13c16f42-tar/'
    """
    if not _MODEL_NAME.fullmatch(name):
        raise ValueError(
            f"model name {name!r:.80}: allowed are 1 to 64 of A-Z a-z 0-9 . _ -, the first a letter or digit"
        )
    return f"{MODELS_PREFIX}{name}/{parse_sha256(digest)}{'-tar' if archived else ''}/"
