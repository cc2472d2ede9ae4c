"""A stand-in for AWS on this machine, for development and tests only, never for production.

Loopback, no account, no Docker: `python -m local_cloud up` starts it.
"""

from __future__ import annotations

import os

# ministack writes a key to /tmp as soon as it is imported, in any process: only the emulator has a place for it.
os.environ.setdefault("STATE_DIR", os.devnull)
