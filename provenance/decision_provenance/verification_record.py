"""What a verification found, kept so that nobody has to read the same bytes again.

A record names the exact versions that were read. S3 never changes the bytes of a version, so a record that still
matches what lies in the bucket says as much as reading everything again; whoever may write records must be trusted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import MODELS_PREFIX, PackagedFile
from decision_provenance.s3_object import PinnedObject

VERIFIED_PREFIX = "verified/"
RECORD_LIMIT_BYTES = 1 << 20

_FORMAT = 1
_FIELDS = ("digest", "facts", "files", "format", "objects", "prefix")
_OBJECT_FIELDS = ("bytes", "etag", "key", "version_id")


def record_key(prefix: str) -> str:
    """Where the record of a package lies: beside the packages, out of reach of those who write them.

    Examples
    --------
    >>> record_key("models/tiny/13c16f42/")
    'verified/tiny/13c16f42.json'
    >>> record_key("models/tiny/13c16f42-tar/")
    'verified/tiny/13c16f42-tar.json'
    """
    return f"{VERIFIED_PREFIX}{prefix.removeprefix(MODELS_PREFIX).rstrip('/')}.json"


@dataclass(frozen=True)
class RecordedObject:
    """One object of a package, in the version that was read."""

    key: str
    version_id: str
    etag: str
    bytes: int

    def __post_init__(self) -> None:
        # Where versioning is off or was suspended, "null" is overwritten in place.
        if self.version_id in ("", "null"):
            raise ValueError(
                f"{self.key} has no version, so that its bytes may change unseen: there is nothing to record"
            )

    def is_still(self, found: PinnedObject | None) -> bool:
        """Whether the object is, as it lies there now, the version that was read."""
        return found is not None and (self.key, self.version_id, self.etag, self.bytes) == (
            found.key,
            found.version_id,
            found.etag,
            found.bytes,
        )


@dataclass(frozen=True)
class VerificationRecord:
    """A package that was read whole and matched its pin.

    Parameters
    ----------
    prefix:
        The package's key prefix.
    digest:
        Its package digest.
    files:
        The pin that it matched.
    objects:
        Everything under the prefix, in the versions that were read, by key.
    facts:
        What the GGUF headers say.

    Examples
    --------
    >>> record = VerificationRecord(
    ...     prefix="models/tiny/13c16f42/",
    ...     digest="ab" * 32,
    ...     files=(PackagedFile("m.gguf", "ab" * 32, 5),),
    ...     objects=(RecordedObject("models/tiny/13c16f42/m.gguf", "v1", '"e"', 5),),
    ...     facts=GgufFacts(version=3, architecture="llama"),
    ... )
    >>> VerificationRecord.from_bytes(record.to_bytes()) == record
    True
    """

    prefix: str
    digest: str
    files: tuple[PackagedFile, ...]
    objects: tuple[RecordedObject, ...]
    facts: GgufFacts

    def to_bytes(self) -> bytes:
        """The record as JSON with sorted names and a newline at the end."""
        document = {
            "digest": self.digest,
            "facts": self.facts.to_json(),
            "files": [file.to_json() for file in self.files],
            "format": _FORMAT,
            "objects": [
                {"bytes": entry.bytes, "etag": entry.etag, "key": entry.key, "version_id": entry.version_id}
                for entry in self.objects
            ],
            "prefix": self.prefix,
        }
        return (json.dumps(document, indent=2, sort_keys=True) + "\n").encode()

    @classmethod
    def from_bytes(cls, content: bytes) -> VerificationRecord:
        """Read `to_bytes`' content.

        Raises
        ------
        ValueError
            If it is anything else.
        """
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"a verification record is not JSON ({error}): delete it") from None
        if not isinstance(document, dict) or set(document) != set(_FIELDS) or document["format"] != _FORMAT:
            raise ValueError(f"a verification record is an object of {', '.join(_FIELDS)} with format {_FORMAT}")
        return cls(
            prefix=_text(document, "prefix"),
            digest=_text(document, "digest"),
            files=tuple(PackagedFile.from_json(entry) for entry in _list(document, "files")),
            objects=tuple(_object(entry) for entry in _list(document, "objects")),
            facts=GgufFacts.from_json(_mapping(document["facts"], "facts")),
        )


def recorded_objects(objects: Sequence[PinnedObject]) -> tuple[RecordedObject, ...] | None:
    """What a record keeps of the objects, by key; None if one has no version."""
    ordered = sorted(objects, key=lambda entry: entry.key)
    try:
        return tuple(RecordedObject(one.key, one.version_id or "", one.etag, one.bytes) for one in ordered)
    except ValueError:
        return None


def _object(document: object) -> RecordedObject:
    entry = _mapping(document, "objects")
    if set(entry) != set(_OBJECT_FIELDS):
        raise ValueError(f"an object of a verification record has {', '.join(_OBJECT_FIELDS)}, no more")
    length = entry["bytes"]
    if not isinstance(length, int) or isinstance(length, bool):
        raise ValueError(f"an object of a verification record has {length!r:.80} bytes")  # noqa: TRY004 - content
    return RecordedObject(_text(entry, "key"), _text(entry, "version_id"), _text(entry, "etag"), length)


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document[name]
    if not isinstance(value, str) or not value:
        raise ValueError(f"`{name}` of a verification record is {value!r:.80}: it must be a text")
    return value


def _list(document: Mapping[str, Any], name: str) -> list[Any]:
    value = document[name]
    if not isinstance(value, list):
        raise ValueError(f"`{name}` of a verification record is {value!r:.80}: it must be a list")  # noqa: TRY004
    return value


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"`{name}` of a verification record is {value!r:.80}: it must be an object")  # noqa: TRY004
    return value
