"""The code that a deploy takes along: found, and put together the same way every time.

The code of the custom resources lies in ``lambda/`` of a checkout and in ``decision_endpoints/_assets/lambda/`` of an
installed wheel. Our Python packages are found where Python finds them, which is right for both.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

_HERE = Path(__file__).parent


@contextmanager
def lambda_folder(name: str) -> Iterator[Path]:
    """The asset of one function: ``lambda/<name>/``, with ``lambda/shared/`` and `decision_provenance` beside it.

    The folder is gone after the ``with``: CDK copies an asset when the construct that uses it is made.
    """
    with TemporaryDirectory(prefix="decision-endpoints-") as folder:
        root = Path(folder)
        _copy_code(lambda_root() / name, root)
        _copy_code(lambda_root() / "shared", root)
        _copy_code(package_folder("decision_provenance"), root / "decision_provenance")
        yield root


@contextmanager
def packaging_folder() -> Iterator[Path]:
    """The source of the packaging build: its buildspec at the root, and the two packages it runs.

    Of `decision_client` only `packaging` is taken: a change elsewhere in the client is no reason to update the build.
    """
    with TemporaryDirectory(prefix="decision-endpoints-") as folder:
        root = Path(folder)
        packaging = package_folder("decision_client") / "packaging"
        _copy_code(packaging, root / "decision_client" / "packaging")
        # Without it the folder is a namespace package, and a `decision_client` that is installed would win over it.
        (root / "decision_client" / "__init__.py").touch()
        _copy_code(package_folder("decision_provenance"), root / "decision_provenance")
        for name in ("buildspec.yml", "requirements.lock"):
            inner = root / "decision_client" / "packaging" / name
            if inner.exists():
                inner.rename(root / name)
        yield root


@contextmanager
def adapter_image_folder() -> Iterator[Path]:
    """The source of the image build: the Docker context, with the build's own program and buildspec beside it."""
    with TemporaryDirectory(prefix="decision-endpoints-") as folder:
        root = Path(folder)
        for name in ("Dockerfile", "build_image.py", "buildspec.yml", "requirements.lock"):
            shutil.copyfile(_image_root() / name, root / name)
        # Both builds need boto3 and nothing else.
        packaging = package_folder("decision_client") / "packaging"
        shutil.copyfile(packaging / "requirements.lock", root / "build-requirements.lock")
        for package in ("decision_adapter", "decision_provenance"):
            _copy_code(package_folder(package), root / package)
        yield root


def _image_root() -> Path:
    installed = _HERE / "_assets" / "adapter_image"
    return installed if installed.is_dir() else _HERE.parents[1] / "adapter_image"


def lambda_root() -> Path:
    """Where the folders of the functions are.

    >>> (lambda_root() / "build_run" / "handler.py").is_file()
    True
    """
    installed = _HERE / "_assets" / "lambda"
    # In a checkout this file is constructs/decision_endpoints/assets.py.
    return installed if installed.is_dir() else _HERE.parents[1] / "lambda"


def package_folder(name: str) -> Path:
    """The folder of one of our packages, without importing it.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed and its source root is not on the path.
    """
    spec = find_spec(name)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            f"the package {name} was not found: install decision-endpoints, or run from its checkout"
        )
    return Path(spec.origin).parent


def content_sha256(*packages: str) -> str:
    """One digest of all the code of some packages: it changes when, and only when, a file's name or bytes do.

    >>> content_sha256("decision_provenance") == content_sha256("decision_provenance")
    True
    """
    return hashlib.sha256("".join(_listing(package_folder(name), name) for name in packages).encode()).hexdigest()


def folder_sha256(folder: Path) -> str:
    """The same of one folder."""
    return hashlib.sha256(_listing(folder, ".").encode()).hexdigest()


def _listing(folder: Path, name: str) -> str:
    """A line for each file, as ``sha256sum`` writes them."""
    return "".join(
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {name}/{file.relative_to(folder).as_posix()}\n"
        for file in _code_files(folder)
    )


def _copy_code(source: Path, target: Path) -> None:
    for file in _code_files(source):
        copy = target / file.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        # Bytes only: the modes and times of a checkout are no part of what is deployed.
        shutil.copyfile(file, copy)


def _code_files(folder: Path) -> list[Path]:
    """The files that belong to the code, in one order everywhere; no byte code, no hidden files."""
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{folder} was not found: the installation of decision-endpoints is incomplete, install it again"
        )
    inner = ((file, file.relative_to(folder).parts) for file in folder.rglob("*") if file.is_file())
    kept = [(parts, file) for file, parts in inner if not any(p.startswith((".", "__pycache__")) for p in parts)]
    return [file for _, file in sorted(kept)]
