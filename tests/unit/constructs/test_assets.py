from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import build_image
from decision_endpoints import assets


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


@pytest.mark.parametrize("name", ["build_run", "endpoint_log_group", "verified_gguf"])
def test_a_functions_asset_holds_its_handler_and_what_it_imports(name: str) -> None:
    with assets.lambda_folder(name) as folder:
        files = _contents(folder)

    assert {"handler.py", "response.py", "decision_provenance/__init__.py", "decision_provenance/gguf.py"} <= set(files)
    assert not [file for file in files if "__pycache__" in file]


def test_the_packaging_asset_has_its_buildspec_at_the_root() -> None:
    with assets.packaging_folder() as folder:
        files = _contents(folder)

    assert {"buildspec.yml", "decision_client/packaging/__main__.py", "decision_provenance/digest.py"} <= set(files)


def test_the_image_asset_is_the_docker_context_with_its_build_beside_it() -> None:
    with assets.adapter_image_folder() as folder:
        files = _contents(folder)

    top = {file for file in files if "/" not in file}
    assert top == {"Dockerfile", "build-requirements.lock", "build_image.py", "buildspec.yml", "requirements.lock"}
    assert {"decision_adapter/server.py", "decision_provenance/digest.py"} <= set(files)
    assert not [file for file in files if "__pycache__" in file]


def test_the_image_build_counts_its_source_as_the_construct_that_names_it() -> None:
    with assets.adapter_image_folder() as folder:
        counted = assets.folder_sha256(folder)
        # What running it may leave behind.
        (folder / "__pycache__").mkdir()
        (folder / "__pycache__" / "build_image.cpython-313.pyc").write_bytes(b"\0")

        assert build_image.source_sha256(folder) == counted


def test_an_installed_client_never_wins_over_the_one_in_the_packaging_asset(tmp_path: Path) -> None:
    installed = tmp_path / "site-packages" / "decision_client"
    installed.mkdir(parents=True)
    (installed / "__init__.py").touch()
    with assets.packaging_folder() as folder:
        # -S: without the checkout's own installation, which would be found in either case.
        found = subprocess.run(
            [sys.executable, "-S", "-c", "import decision_client.packaging as p; print(p.__file__)"],
            cwd=folder,
            env={"PYTHONPATH": str(installed.parent)},
            check=True,
            capture_output=True,
            text=True,
        )

        assert Path(found.stdout.strip()).is_relative_to(folder.resolve())


def test_assets_are_put_together_the_same_way_every_time() -> None:
    with assets.packaging_folder() as first, assets.packaging_folder() as second:
        assert _contents(first) == _contents(second)


def test_byte_code_and_hidden_files_change_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "some_package"
    package.mkdir()
    (package / "__init__.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = assets.content_sha256("some_package")
    (package / "__pycache__").mkdir()
    (package / "__pycache__" / "__init__.cpython-311.pyc").write_bytes(b"\0")
    (package / ".DS_Store").write_bytes(b"\0")

    assert assets.content_sha256("some_package") == before
    (package / "__init__.py").write_text("x = 2\n")
    assert assets.content_sha256("some_package") != before
