"""Where a model comes from. A source is a pin: it says which bytes, and the deploy refuses any others."""

from .default_model import QWEN3_5_4B
from .hugging_face_gguf import HuggingFaceGguf, HuggingFaceTokenizer
from .local_gguf import LocalGguf
from .pin import BoundSource, ModelSource
from .s3_gguf import S3Gguf

__all__ = [
    "QWEN3_5_4B",
    "BoundSource",
    "HuggingFaceGguf",
    "HuggingFaceTokenizer",
    "LocalGguf",
    "ModelSource",
    "S3Gguf",
]
