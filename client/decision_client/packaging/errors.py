"""Why a package cannot be made, in words for whoever reads the build's log."""

from __future__ import annotations


class PackagingRefused(ValueError):
    """The package cannot be made as asked; the text says what was found, where, what is allowed, what to do."""
