"""The environment files: what a platform team edits, and what is said when it does not fit.

Each ``environments/<name>.yaml`` is one environment. Everything is checked before anything is synthesized, all files at
once, so that one run tells all there is to correct.
"""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from decision_endpoints import CheckoutImage, CpuInstance, EcrImage, GpuPool, GravitonInstance, LocalGguf
from decision_endpoints.errors import did_you_mean
from decision_provenance.gguf import GgufFacts

from .refusals import sentences
from .yaml_file import read_yaml

# A stage id, and the end of stack names and of the endpoint's name, which has 63 characters.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 40


class EnvironmentRefused(ValueError):
    """One or more environment files do not fit; one line for each thing to correct."""


class _Section(BaseModel):
    """A part of a file: exactly these keys, with exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _read_facts(value: object) -> object:
    """Facts that were left out are unknown; names that no header has are refused."""
    if not isinstance(value, dict):
        return value
    defaults = {field.name: None if field.default is MISSING else field.default for field in fields(GgufFacts)}
    unknown = [f"{name} is no fact: {did_you_mean(str(name), defaults)}" for name in value if name not in defaults]
    if unknown:
        raise ValueError("; ".join(unknown))
    return GgufFacts.from_json(defaults | value)


class LocalSource(_Section):
    """A GGUF file on this machine, and the pin it must match."""

    path: str
    sha256: str
    bytes: int
    facts: Annotated[GgufFacts, BeforeValidator(_read_facts)]


class Source(_Section):
    """Where the model comes from."""

    local: LocalSource


class Model(_Section):
    """Which model, and its name in S3 keys and logs."""

    name: str
    source: Source

    @model_validator(mode="after")
    def _is_a_pin(self) -> Self:
        self.gguf(Path())
        return self

    def gguf(self, root: Path) -> LocalGguf:
        """The pin; a relative path counts from `root`."""
        local = self.source.local
        return LocalGguf(
            path=root / local.path, name=self.name, sha256=local.sha256, bytes=local.bytes, facts=local.facts
        )


class Compute(_Section):
    """What the endpoint runs on: exactly one of `cpu`, `graviton` and `gpu`, a list of types, the first choice first.

    Without `threads`: the instance's physical cores.
    """

    cpu: str | None = None
    graviton: str | None = None
    gpu: list[str] | None = None
    threads: int | None = None

    @model_validator(mode="after")
    def _is_in_the_catalog(self) -> Self:
        self.instance()
        return self

    def instance(self) -> CpuInstance | GravitonInstance | GpuPool:
        """The instance, or the pool of them."""
        given = [name for name in ("cpu", "graviton", "gpu") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"give exactly one of cpu, graviton and gpu; there is {found}")
        if self.gpu is not None:
            if self.threads is not None:
                raise ValueError("threads is for cpu and graviton: a gpu pool takes the cores of its smallest type")
            return GpuPool(self.gpu)
        if self.graviton is not None:
            return GravitonInstance(self.graviton, threads=self.threads)
        return CpuInstance(str(self.cpu), threads=self.threads)


class Endpoint(_Section):
    """The endpoint. `image`: an ECR URI with a digest or, on the local cloud, ``checkout``, the adapter's own code."""

    image: str
    compute: Compute
    name: str | None = None
    context_tokens: int | None = None
    instances: int = 1
    startup_seconds: int = 600
    download_seconds: int = 1200

    @model_validator(mode="after")
    def _has_an_image(self) -> Self:
        self.container_image()
        return self

    def container_image(self) -> CheckoutImage | EcrImage:
        """The image."""
        return CheckoutImage() if self.image == "checkout" else EcrImage(self.image)


class Settings(_Section):
    """The whole file. `retain` keeps what is stateful when the stacks go; by default on AWS, not on the local cloud."""

    cloud: Literal["aws", "local"]
    account: Annotated[str, Field(pattern=r"^[0-9]{12}$")]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
    model: Model
    endpoint: Endpoint
    retain: bool | None = None

    @model_validator(mode="after")
    def _suits_its_cloud(self) -> Self:
        if self.cloud == "aws" and self.endpoint.image == "checkout":
            raise ValueError("endpoint.image is checkout, which only the local cloud hosts: give an ECR URI")
        return self


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment file that fits. `root` is what relative paths in it count from."""

    name: str
    root: Path
    settings: Settings

    @property
    def local(self) -> bool:
        """Whether it is for the local cloud."""
        return self.settings.cloud == "local"

    @property
    def retain(self) -> bool:
        """Whether what is stateful outlives its stack."""
        return not self.local if self.settings.retain is None else self.settings.retain

    @property
    def endpoint_name(self) -> str:
        """The endpoint's name: as given, or ``decisions-<environment>``."""
        return self.settings.endpoint.name or f"decisions-{self.name}"


def load_environments(folder: Path, *, root: Path) -> list[Environment]:
    """Every environment in `folder`, by name.

    Raises
    ------
    EnvironmentRefused
        If there is none, or anything in any file does not fit.
    """
    if not folder.is_dir():
        raise EnvironmentRefused(f"{folder} is no folder: give the one with the environment files")
    complaints: list[str] = []
    environments: list[Environment] = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.suffix == ".md":
            continue
        try:
            environments.append(_load(path, root))
        except EnvironmentRefused as refused:
            complaints.append(str(refused))
    if complaints:
        raise EnvironmentRefused("\n".join(complaints))
    if not environments:
        raise EnvironmentRefused(f"{folder} holds no environment: add one as <name>.yaml")
    return environments


def _load(path: Path, root: Path) -> Environment:
    if path.suffix != ".yaml" or not path.is_file():
        raise EnvironmentRefused(f"{path} is not an environment: name it <environment>.yaml, or move it elsewhere")
    if not _NAME.fullmatch(path.stem) or len(path.stem) > _LONGEST_NAME:
        allowed = f"use lower-case letters, digits and inner hyphens, at most {_LONGEST_NAME} characters"
        raise EnvironmentRefused(f"{path} cannot name an environment: {allowed}")
    try:
        document = read_yaml(path)
    except ValueError as error:
        raise EnvironmentRefused(f"{path}: {error}") from error
    if not isinstance(document, dict):
        raise EnvironmentRefused(f"{path} holds no settings: write them as `key: value`, beginning with `cloud: local`")
    try:
        return Environment(name=path.stem, root=root, settings=Settings.model_validate(document))
    except ValidationError as error:
        raise EnvironmentRefused("\n".join(f"{path}: {text}" for text in sentences(error, Settings))) from error
