"""Python imports this at start where its folder is on `PYTHONPATH`: in the Lambdas and the builds of the local cloud.

They run with this checkout's interpreter, whose editable install would let them import the checkout's packages. On AWS
they have only what their asset carries, so a module that an asset forgot must be missing here too.
"""

from __future__ import annotations

import os
import sys

_kept = (sys.prefix, sys.base_prefix, *os.environ.get("PYTHONPATH", "").split(os.pathsep))
sys.path[:] = [entry for entry in sys.path if entry.startswith(_kept)]
