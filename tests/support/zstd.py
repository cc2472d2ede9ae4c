"""`zstd` of the standard library, or where Python has none yet, of the same author's package for older ones."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["zstd"]
