"""What the app itself says is wrong, and whether all that the CLI uploads is on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from decision_client.assembly import Stack
from decision_client.doctor.finding import Finding, Status

CHECK_APP = "app"
CHECK_FILES = "files"


def check_app(stacks: Sequence[Stack]) -> Iterator[Finding]:
    """The CLI deploys no stack to which the app attached an error."""
    for stack in stacks:
        complaints = list(dict.fromkeys(stack.errors))
        for complaint in complaints:
            yield Finding(CHECK_APP, stack.path, Status.MISSING, complaint)
        if not complaints:
            yield Finding(CHECK_APP, stack.path, Status.OK, "synthesized without an error")


def check_files(stacks: Sequence[Stack]) -> Iterator[Finding]:
    """Local models are among them."""
    assets = list(dict.fromkeys(asset for stack in stacks for asset in stack.assets))
    absent = [asset for asset in assets if asset.path is not None and not asset.path.exists()]
    for asset in absent:
        sentence = f"{asset.path} is not there, and the CLI must upload it: put it there, or synthesize again"
        yield Finding(CHECK_FILES, asset.name, Status.MISSING, sentence)
    if assets and not absent:
        yield Finding(CHECK_FILES, f"{len(assets)} assets", Status.OK, "all there")
