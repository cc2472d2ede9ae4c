"""`make down`: destroy the stacks, stop every process, and leave nothing but logs."""

from __future__ import annotations

import shutil
from pathlib import Path

from rich.console import Console

from local_cloud.demo.cdk import CdkCli, CdkFailed
from local_cloud.demo.checkout import HOME, from_root
from local_cloud.demo.progress import step
from local_cloud.demo.up import STACKS
from local_cloud.lifecycle import LocalCloudError, stop
from local_cloud.running_cloud import RunningCloud

_DESTROY_WITHIN_SECONDS = 180.0


def down(console: Console, *, home: Path = HOME) -> int:
    """Undo `up`; twice is fine. The exit code is 1 only if something still runs."""
    cloud = RunningCloud.find(home)
    if cloud is not None:
        _destroy(console, cloud)
    try:
        if cloud is None:
            # A cloud that died may have left processes and files of its own.
            stop(home)
        else:
            with step(console, "Stopping the local cloud and all it started"):
                stop(home)
    except LocalCloudError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 1
    keep_only_logs(home)
    nothing_runs = f"Nothing runs. Logs stay in {from_root(home)}/." if home.is_dir() else "Nothing runs."
    console.print(nothing_runs, markup=False, highlight=False, soft_wrap=True)
    return 0


def keep_only_logs(home: Path) -> None:
    """Remove what a deploy leaves in the local cloud's home and nobody needs once it is stopped."""
    shutil.rmtree(home / "cdk.out", ignore_errors=True)
    (home / "outputs.json").unlink(missing_ok=True)


def _destroy(console: Console, cloud: RunningCloud) -> None:
    cdk = CdkCli(cloud)
    # Without a manifest nothing was synthesized to the end, so nothing was deployed.
    if not (cdk.assembly / "manifest.json").is_file() or not cloud.healthy():
        return
    try:
        with step(console, f"cdk destroy '{STACKS}'") as on_news:
            cdk.destroy(STACKS, on_news, limit_seconds=_DESTROY_WITHIN_SECONDS)
    except CdkFailed as error:
        # No reason to leave processes behind: the stacks live in the local cloud's memory.
        console.print(
            f"The stacks could not be destroyed one by one, they go with the local cloud:\n{error}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
