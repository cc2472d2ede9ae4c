"""The environment files: what a platform team edits, and what is said when it does not fit.

Each ``environments/<name>.yaml`` is one environment. Everything is checked before anything is synthesized, all files at
once, so that one run tells all there is to correct.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from pydantic import ValidationError

from .refusals import sentences
from .settings import Settings
from .yaml_file import read_yaml

# A stage id, and the end of stack names and of the endpoint's name, which has 63 characters.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_LONGEST_NAME = 40


class EnvironmentRefused(ValueError):
    """One or more environment files do not fit; one line for each thing to correct."""


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
        """The endpoint's name: as given, or ``decisions-<environment>``, and ``chat-<environment>`` where it chats."""
        return self.settings.endpoint.name or f"{self.settings.endpoint.answers}-{self.name}"


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
    complaints += _same_names(folder, environments)
    if complaints:
        raise EnvironmentRefused("\n".join(complaints))
    if not environments:
        raise EnvironmentRefused(f"{folder} holds no environment: add one as <name>.yaml")
    return environments


def _same_names(folder: Path, environments: list[Environment]) -> list[str]:
    """An endpoint's name is unique in an account and region; a file without an account may meet any."""
    return [
        f"{folder / second.name}.yaml: the endpoint {second.endpoint_name} is that of {first.name}.yaml too: "
        "give one of them another endpoint.name"
        for first, second in combinations(environments, 2)
        if first.endpoint_name == second.endpoint_name
        and first.settings.region == second.settings.region
        and len({first.settings.account, second.settings.account} - {None}) < 2
    ]


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
