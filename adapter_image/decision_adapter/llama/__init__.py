"""llama.cpp through ctypes, in llama.h's own words. Nothing outside this package touches ctypes.

Read in this order: `library` (finding and loading libllama and its back ends), `signatures` (what is called),
`layout` (the parameter structures, probed), `model`, `vocab`, `context`.
"""

from __future__ import annotations

from decision_adapter.llama.context import Context
from decision_adapter.llama.library import Library, load_library
from decision_adapter.llama.model import Model
from decision_adapter.llama.vocab import Vocab

__all__ = ["Context", "Library", "Model", "Vocab", "load_library"]
