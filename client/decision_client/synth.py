"""Finding the cloud assembly of an app, or writing it with the CDK CLI."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from decision_client.assembly import AssemblyUnreadable

_DEFAULT_OUTPUT = "cdk.out"
_APP = "cdk.json"
_LAST_LINES = 8


@dataclass(frozen=True)
class FoundAssembly:
    """An assembly's folder, and in words which one it is."""

    folder: Path
    described: str


@contextmanager
def find_assembly(
    environment: str, *, given: Path | None, synth: bool, say: Callable[[str], None], where: Path | None = None
) -> Iterator[FoundAssembly]:
    """The assembly to read, for as long as it is read.

    Parameters
    ----------
    environment:
        What to synthesize, if need be.
    given:
        The folder that the user named.
    synth:
        Whether to write it anew rather than take the app's ``cdk.out``.
    say:
        Takes a line of progress.
    where:
        The app's folder. Default: the working directory.

    Raises
    ------
    AssemblyUnreadable
        If there is none and it cannot be written; the text says why.
    """
    app = where or Path.cwd()
    if given is not None:
        yield FoundAssembly(given, _described(given, given))
    elif not synth and (app / _DEFAULT_OUTPUT / "manifest.json").is_file():
        yield FoundAssembly(app / _DEFAULT_OUTPUT, _described(app / _DEFAULT_OUTPUT, Path(_DEFAULT_OUTPUT)))
    else:
        with TemporaryDirectory(prefix="decisions-") as folder:
            say(f"Running cdk synth for {environment} …")
            _run_synth(environment, app, Path(folder))
            yield FoundAssembly(Path(folder), f"{app} as it is now")


def _described(folder: Path, name: Path) -> str:
    """The folder with its age: what it says may not be what the app says now."""
    try:
        written = datetime.fromtimestamp((folder / "manifest.json").stat().st_mtime)
    except OSError:
        return str(name)
    return f"{name}, written {written:%Y-%m-%d %H:%M}"


def _run_synth(environment: str, app: Path, output: Path) -> None:
    if not (app / _APP).is_file():
        raise AssemblyUnreadable(
            f"{app} has neither {_DEFAULT_OUTPUT} nor {_APP}: run this in the CDK app's folder, or name the folder "
            "that `cdk synth` wrote with --assembly"
        )
    local = app / "node_modules" / ".bin" / "cdk"
    cdk = str(local) if local.is_file() else shutil.which("cdk")
    if cdk is None:
        raise AssemblyUnreadable(
            f"there is no CDK CLI in {local.parent} or on the path: install it (`npm install aws-cdk`), or name the "
            "folder that `cdk synth` wrote with --assembly"
        )
    pattern = environment if any(sign in environment for sign in "*?/") else f"{environment}/*"
    command = [cdk, "synth", pattern, "--quiet", "--no-notices", "--output", str(output)]
    outcome = subprocess.run(
        command,
        cwd=app,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    # It also fails once all is written: over an error that the app attached to a stack, which the doctor reports.
    if not (output / "manifest.json").is_file():
        said = [line for line in (outcome.stdout + outcome.stderr).splitlines() if line.strip()]
        raise AssemblyUnreadable("\n".join(["`cdk synth` failed:", *said[-_LAST_LINES:]]))
