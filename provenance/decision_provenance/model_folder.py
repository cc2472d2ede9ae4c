"""Which files of a folder, or of a key prefix, are the model."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

_SHARD = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf")
_SHOWN_NAMES = 20


class ModelFolderRefused(ValueError):
    """There is not exactly one model; the text lists what was seen."""


@dataclass(frozen=True)
class ModelFiles:
    """The files of one model in shard order; llama.cpp opens the first and finds the others beside it."""

    shards: tuple[Path, ...]

    @property
    def first(self) -> Path:
        """The only file, or shard 1."""
        return self.shards[0]


def find_model(folder: Path) -> ModelFiles:
    """Find the one model in a folder, however deep it lies.

    Vision projectors (`mmproj*`) and the files macOS adds (`._*`) are no models and are passed over.

    Parameters
    ----------
    folder:
        An existing directory. Links to files count as files; links to directories are not followed.

    Raises
    ------
    ModelFolderRefused
        If there is no model, more than one, or a split one that is not complete.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("mmproj-f16.gguf", "model-00002-of-00002.gguf", "model-00001-of-00002.gguf"):
    ...         Path(folder, name).touch()
    ...     find_model(Path(folder)).first.name
    'model-00001-of-00002.gguf'
    """
    if not folder.is_dir():
        raise ModelFolderRefused(f"{folder} is not a directory: name the directory that holds the model's GGUF file")
    names = sorted(
        path.relative_to(folder).as_posix()
        for path in (Path(parent, name) for parent, _, files in os.walk(folder, onerror=_raise) for name in files)
        if path.is_file()
    )
    return ModelFiles(tuple(folder / name for name in pick_model(names, where=str(folder))))


def pick_model(names: Iterable[str], *, where: str) -> tuple[str, ...]:
    """The names, with `/` between folders, that are the one model, in shard order.

    `where` is what an error calls the place.

    Examples
    --------
    >>> pick_model(["x/y/m.gguf", "x/y/._m.gguf", "README.md"], where="the package")
    ('x/y/m.gguf',)
    >>> pick_model(["a.gguf", "b.gguf"], where="the package")
    Traceback (most recent call last):
    decision_provenance.model_folder.ModelFolderRefused: the package holds 2 models (a.gguf; b.gguf): leave exactly one
    """
    seen = sorted(set(names))
    models: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for name in seen:
        file = PurePosixPath(name).name
        if not file.endswith(".gguf") or file.startswith(("mmproj", "._")):
            continue
        shard = _SHARD.fullmatch(file)
        set_name = f"{shard['stem']}-*-of-{shard['count']}.gguf" if shard else file
        models[str(PurePosixPath(name).parent), set_name].append(name)
    if not models:
        raise ModelFolderRefused(f"{where} holds no model: a .gguf file is needed, there is {_listing(seen)}")
    if len(models) > 1:
        found = "; ".join(_listing(files) for files in models.values())
        raise ModelFolderRefused(f"{where} holds {len(models)} models ({found}): leave exactly one")
    (files,) = models.values()
    _refuse_incomplete(files, where)
    return tuple(files)


def _refuse_incomplete(files: list[str], where: str) -> None:
    """`files` is one file or the sorted shards of one set; equal widths make the order of names that of numbers."""
    shard = _SHARD.fullmatch(PurePosixPath(files[0]).name)
    if shard is None:
        return
    count = int(shard["count"])
    stem = f"{shard['stem']}-"
    expected = [f"{stem}{number:05d}-of-{count:05d}.gguf" for number in range(1, count + 1)]
    present = [PurePosixPath(name).name for name in files]
    if present == expected:
        return
    missing = [name for name in expected if name not in present]
    unexpected = [name for name in present if name not in expected]
    complaints = [
        *([f"misses {_listing(missing)}"] if missing else []),
        *([f"must not have {_listing(unexpected)}"] if unexpected else []),
    ]
    raise ModelFolderRefused(
        f"{where} holds a split model that {' and '.join(complaints)}; there is {_listing(present)}: "
        f"give all {count} shards, numbered from 00001"
    )


def _listing(names: list[str]) -> str:
    if not names:
        return "nothing"
    more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
    return ", ".join(names[:_SHOWN_NAMES]) + more


def _raise(error: OSError) -> None:
    """A directory that cannot be listed may hold a second model."""
    raise error
