"""CodeBuild of the local cloud: a build really runs the phases of its buildspec, in a shell on this machine."""

from __future__ import annotations

from local_cloud.codebuild import api, projects


def install() -> None:
    """Put projects and builds in place of the emulator's own."""
    projects.install()
    api.install()


def reset() -> None:
    """Stop all builds."""
    api.reset()
