"""Read a buildspec: what is wrong or not emulated is refused by name, never ignored.

Source: AWS CodeBuild user guide, "Build specification reference for CodeBuild" (version 0.2).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

PHASES = ("install", "pre_build", "build", "post_build")
SHELLS = ("sh", "bash")


class BuildspecError(ValueError):
    """The buildspec cannot be run; the text names the key, what is allowed and what to do."""


@dataclass(frozen=True)
class Phase:
    """Commands of one phase. `finally_commands` run whether or not `commands` succeed.

    `continue_on_failure` is None where the buildspec leaves it to CodeBuild's rule for the phase.
    """

    commands: tuple[str, ...] = ()
    finally_commands: tuple[str, ...] = ()
    continue_on_failure: bool | None = None


@dataclass(frozen=True)
class ArtifactFiles:
    """Which files leave the build: glob patterns below `base_directory`, a path below the source."""

    patterns: tuple[str, ...]
    base_directory: str = "."
    discard_paths: bool = False


@dataclass(frozen=True)
class Buildspec:
    """A buildspec whose every key is understood."""

    phases: Mapping[str, Phase]
    shell: str = "sh"
    variables: Mapping[str, str] | None = None
    parameter_store: Mapping[str, str] | None = None
    exported_variables: tuple[str, ...] = ()
    artifacts: ArtifactFiles | None = None


def parse(text: str) -> Buildspec:
    """Read a buildspec in YAML or JSON.

    Raises
    ------
    BuildspecError
        If it is no YAML, or holds a key that is unknown or not emulated.

    Examples
    --------
    >>> parse('{"version": 0.2, "phases": {"build": {"commands": "make"}}}').phases["build"].commands
    ('make',)
    >>> parse("version: 0.2\\nphases: {build: {comands: [make]}}")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    local_cloud.codebuild.buildspec.BuildspecError: phases.build: comands is not emulated; known here: commands, ...
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BuildspecError(f"the buildspec is no YAML: {' '.join(str(error).split())}") from error
    top = _section("buildspec", content, ("version", "env", "phases", "artifacts"))
    if str(top.get("version")) != "0.2":
        raise BuildspecError(
            f"buildspec: version is {top.get('version')!r}, only 0.2 is emulated: write `version: 0.2`"
        )
    environment = _section("env", top.get("env"), ("shell", "variables", "parameter-store", "exported-variables"))
    shell = environment.get("shell", "sh")
    if shell not in SHELLS:
        raise BuildspecError(f"env.shell: {shell!r} is not emulated; known here: {', '.join(SHELLS)}")
    exported = _list("env.exported-variables", environment.get("exported-variables"))
    for name in exported:
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
            raise BuildspecError(f"env.exported-variables: {name!r} is no name of a shell variable")
    if "phases" not in top:
        raise BuildspecError("buildspec: phases is missing: write at least `phases: {build: {commands: […]}}`")
    phases = _section("phases", top["phases"], PHASES)
    return Buildspec(
        phases={name: _phase(name, content) for name, content in phases.items()},
        shell=shell,
        variables=_texts("env.variables", environment.get("variables")),
        parameter_store=_texts("env.parameter-store", environment.get("parameter-store")),
        exported_variables=exported,
        artifacts=_artifacts(top["artifacts"]) if "artifacts" in top else None,
    )


def _phase(name: str, content: Any) -> Phase:
    # Of the runtimes there is only one, this machine's Python, whatever version is asked for.
    known = ("commands", "finally", "on-failure", *(("runtime-versions",) if name == "install" else ()))
    section = _section(f"phases.{name}", content, known)
    _section(f"phases.{name}.runtime-versions", section.get("runtime-versions"), ("python",))
    on_failure = section.get("on-failure")
    if on_failure not in (None, "ABORT", "CONTINUE"):
        raise BuildspecError(f"phases.{name}.on-failure: {on_failure!r} is not emulated; known here: ABORT, CONTINUE")
    return Phase(
        commands=_list(f"phases.{name}.commands", section.get("commands")),
        finally_commands=_list(f"phases.{name}.finally", section.get("finally")),
        continue_on_failure=None if on_failure is None else on_failure == "CONTINUE",
    )


def _artifacts(content: Any) -> ArtifactFiles:
    section = _section("artifacts", content, ("files", "base-directory", "discard-paths", "name"))
    patterns = _list("artifacts.files", section.get("files"))
    if not patterns:
        raise BuildspecError("artifacts.files is missing: name at least one file, as `files: ['**/*']`")
    return ArtifactFiles(
        patterns=patterns,
        base_directory=str(section.get("base-directory", ".")),
        discard_paths=str(section.get("discard-paths", "no")).lower() in ("yes", "true"),
    )


def _section(where: str, content: Any, known: Collection[str]) -> Mapping[str, Any]:
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise BuildspecError(f"{where} is a {type(content).__name__}, it must be a mapping of: {', '.join(known)}")
    unknown = [str(key) for key in content if key not in known]
    if unknown:
        raise BuildspecError(f"{where}: {', '.join(unknown)} is not emulated; known here: {', '.join(known)}")
    return content


def _list(where: str, content: Any) -> tuple[str, ...]:
    items = [content] if isinstance(content, str) else content or []
    if not isinstance(items, list):
        raise BuildspecError(f"{where} is a {type(content).__name__}, it must be a list of texts")
    for index, item in enumerate(items):
        if not isinstance(item, (str, int, float)):
            raise BuildspecError(
                f"{where}[{index}] is a {type(item).__name__}, it must be a text: put quotes around a command with `: `"
            )
    return tuple(str(item) for item in items)


def _texts(where: str, content: Any) -> Mapping[str, str]:
    if content is None:
        return {}
    if not isinstance(content, Mapping):
        raise BuildspecError(f"{where} is a {type(content).__name__}, it must map names to texts")
    for name, value in content.items():
        if not isinstance(value, (str, int, float)):
            raise BuildspecError(f"{where}.{name} is a {type(value).__name__}, it must be a text")
    return {str(name): str(value) for name, value in content.items()}
