"""What a packaging build is told, in its environment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.local_source import LocalSource
from decision_provenance.manifest import PackagedFile, model_prefix, package_digest, read_pin

Setting = TypeVar("Setting")


@dataclass(frozen=True)
class Settings:
    """One package to make.

    Parameters
    ----------
    source:
        Where the bytes are now (`SOURCE`).
    name:
        The model's name in key prefixes (`MODEL_NAME`).
    files:
        The files the package must have, in shard order (`PIN`).
    bucket:
        Where the package goes (`BUCKET`).
    """

    source: LocalSource
    name: str
    files: tuple[PackagedFile, ...]
    bucket: str

    @property
    def digest(self) -> str:
        """The package digest that the pin makes."""
        return package_digest(self.files)

    @property
    def prefix(self) -> str:
        """The key prefix of the package, ending in `/`."""
        return model_prefix(self.name, self.digest)


def read_settings(environment: Mapping[str, str]) -> Settings:
    """Read the build's environment variables.

    Raises
    ------
    PackagingRefused
        With everything that is wrong with them.

    Examples
    --------
    >>> read_settings({"SOURCE": '{"kind": "ftp"}', "MODEL_NAME": "tiny", "BUCKET": "models"})
    Traceback (most recent call last):
    decision_client.packaging.errors.PackagingRefused: SOURCE: its kind is 'ftp', allowed is 'local'; PIN is not set
    """
    complaints: list[str] = []

    def read(name: str, parse: Callable[[str], Setting]) -> Setting | None:
        text = environment.get(name, "")
        if not text:
            complaints.append(f"{name} is not set")
            return None
        try:
            return parse(text)
        except ValueError as error:
            complaints.append(f"{name}: {error}")
            return None

    source = read("SOURCE", read_source)
    name = read("MODEL_NAME", _model_name)
    files = read("PIN", read_pin)
    bucket = read("BUCKET", str)
    if source is None or name is None or files is None or bucket is None:
        raise PackagingRefused("; ".join(complaints))
    return Settings(source, name, files, bucket)


def read_source(text: str) -> LocalSource:
    """Read `SOURCE`: a JSON object whose `kind` says which other names it has; ValueError says what is wrong."""
    try:
        document = json.loads(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON ({error})") from None
    if not isinstance(document, dict) or "kind" not in document:
        raise ValueError(f"it is {text!r:.200}: give a JSON object with `kind`")
    kind = document.pop("kind")
    if kind != "local":
        raise ValueError(f"its kind is {kind!r:.50}, allowed is 'local'")
    if set(document) != {"bucket", "key", "file"} or not all(isinstance(value, str) for value in document.values()):
        raise ValueError(f"a local source is {text!r:.200}: it has the texts bucket, key and file, no more")
    return LocalSource(**document)


def _model_name(text: str) -> str:
    model_prefix(text, "0" * 64)
    return text
