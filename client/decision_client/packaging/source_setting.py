"""`SOURCE`: where the bytes are now, as the template says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from decision_client.packaging.hub_source import HubCommit, HubSource
from decision_client.packaging.s3_source import LocalSource, S3Source
from decision_provenance.manifest import PackagedFile

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class Source(Protocol):
    """Where files come from."""

    def describe(self) -> dict[str, str]:
        """What the manifest says of the source: the same for everyone who packages the same pin from there."""

    def read(self, file: PackagedFile, s3: S3Client, say: Callable[[str], None]) -> Generator[bytes, None, None]:
        """The bytes of `file`, in pieces; PackagingRefused says why they do not come."""


def read_source(text: str) -> Source:
    """Read `SOURCE`: a JSON object whose `kind` says which other names it has; ValueError says what is wrong.

    Examples
    --------
    >>> read_source('{"kind": "s3", "bucket": "your-models", "prefix": "incoming/"}')
    S3Source(bucket='your-models', prefix='incoming/')
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(document, dict) or "kind" not in document:
        raise ValueError(f"it is {text!r:.200}: give a JSON object with `kind`")
    kind = document.pop("kind")
    make = _KINDS.get(kind) if isinstance(kind, str) else None
    if make is None:
        raise ValueError(f"its kind is {kind!r:.50}, allowed are {', '.join(_KINDS)}")
    return make(document)


def _local(document: Mapping[str, Any]) -> LocalSource:
    _refuse_other_names(document, "a local source", texts=("bucket",), objects=("keys",))
    return LocalSource(**document)


def _s3(document: Mapping[str, Any]) -> S3Source:
    _refuse_other_names(document, "an s3 source", texts=("bucket", "prefix"))
    return S3Source(**document)


def _hugging_face(document: Mapping[str, Any]) -> HubSource:
    texts = ("endpoint", "folder", "repository", "revision")
    tokenizer = document.get("tokenizer")
    _refuse_other_names(
        document, "a huggingface source", texts=texts, objects=() if tokenizer is None else ("tokenizer",)
    )
    return HubSource(
        endpoint=document["endpoint"],
        model=HubCommit(document["repository"], document["revision"]),
        folder=document["folder"],
        tokenizer=None if tokenizer is None else _commit(tokenizer),
    )


def _commit(document: Mapping[str, Any]) -> HubCommit:
    _refuse_other_names(document, "the tokenizer of a huggingface source", texts=("repository", "revision"))
    return HubCommit(**document)


def _refuse_other_names(
    document: Mapping[str, Any], what: str, *, texts: tuple[str, ...], objects: tuple[str, ...] = ()
) -> None:
    right = (
        set(document) == {*texts, *objects}
        and all(isinstance(document[name], str) for name in texts)
        and all(_holds_texts(document[name]) for name in objects)
    )
    if not right:
        names = f"the texts {', '.join(texts)}" + "".join(f" and the object of texts {name}" for name in objects)
        raise ValueError(f"{what} is {json.dumps(document)!r:.300}: it has {names}, no more")


def _holds_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Source]] = {
    "huggingface": _hugging_face,
    "local": _local,
    "s3": _s3,
}
