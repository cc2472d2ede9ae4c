"""What a packaging build is told, in its environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from decision_client.packaging.archive import archive_bytes
from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.source_setting import Source, read_source
from decision_provenance.manifest import ARCHIVE_NAME, PackagedFile, model_prefix, package_digest, read_pin

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
        The files the package must have, the model's in shard order, then its tokenizer's (`PIN`).
    bucket:
        Where the package goes (`BUCKET`).
    archive:
        Whether it is one archive (`ARCHIVE`, true or false). Default: the files as they are.
    """

    source: Source
    name: str
    files: tuple[PackagedFile, ...]
    bucket: str
    archive: bool = False

    @property
    def digest(self) -> str:
        """The package digest that the pin makes."""
        return package_digest(self.files)

    @property
    def prefix(self) -> str:
        """The key prefix of the package, ending in `/`."""
        return model_prefix(self.name, self.digest, archived=self.archive)

    @property
    def stored_bytes(self) -> dict[str, int]:
        """What the package is made of beside its manifest: the length of each object, by name."""
        if self.archive:
            return {ARCHIVE_NAME: archive_bytes(self.files)}
        return {file.name: file.bytes for file in self.files}

    @property
    def disk_bytes(self) -> int:
        """The most that lies on the disk at once."""
        files = sum(file.bytes for file in self.files)
        # The archive grows while the files go, each once it is in.
        return archive_bytes(self.files) + max(file.bytes for file in self.files) if self.archive else files


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
    decision_client.packaging.errors.PackagingRefused: SOURCE: its kind is 'ftp', allowed are ...; PIN is not set
    """
    complaints: list[str] = []

    def read(name: str, parse: Callable[[str], Setting], *, default: str = "") -> Setting | None:
        text = environment.get(name, "") or default
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
    archive = read("ARCHIVE", _true_or_false, default="false")
    if source is None or name is None or files is None or bucket is None or archive is None:
        raise PackagingRefused("; ".join(complaints))
    return Settings(source, name, files, bucket, archive)


def _model_name(text: str) -> str:
    model_prefix(text, "0" * 64)
    return text


def _true_or_false(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"it is {text!r:.50}, allowed are true and false")
    return text == "true"
