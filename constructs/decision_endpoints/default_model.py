"""The model of AWS's own llama.cpp sample, pinned."""

from __future__ import annotations

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import PackagedFile

from .hugging_face_gguf import HuggingFaceGguf

# Facts: the config and model card of Qwen/Qwen3.5-4B (32 layers, width 2560, 16 heads, 4 key/value heads, 262,144
# tokens, vocabulary of 248,320); the architecture's name as in llama.cpp's gguf constants. The file has one layer more,
# for multi-token prediction: llama.cpp reports 34 layers offloaded, which are these 33 and the output.
# Only every fourth layer has attention, with heads of 256; the others keep a state of 2 MiB. What a synth computes
# from these facts (33 layers, heads of 2560 / 16) is above what a context of 4,096 tokens takes.
QWEN3_5_4B = HuggingFaceGguf(
    repository="bartowski/Qwen_Qwen3.5-4B-GGUF",
    revision="4168f45a16a1290d65a4ec0fa312ae917a4c15d6",
    name="qwen3.5-4b-q4-k-m",
    files=[
        PackagedFile(
            name="Qwen_Qwen3.5-4B-Q4_K_M.gguf",
            sha256="13c16f426047e2de38cd075bdade4a7bcbc8c774384876f677740cda65f8a983",
            bytes=3_013_027_808,
        )
    ],
    facts=GgufFacts(
        version=3,
        architecture="qwen35",
        block_count=33,
        context_length=262_144,
        embedding_length=2560,
        head_count=16,
        head_count_kv=4,
        vocab_size=248_320,
    ),
)
"""The default model: the file of AWS's own llama.cpp sample, Qwen3.5-4B in Q4_K_M (3 GB)."""
