"""The long options of llama-server, as data: those with a value, bare flags, and those that an endpoint cannot use.

Source: llama.cpp `tools/server/README.md`, generated from `common/arg.cpp`, as of 2026-11. Options that were only just
added there are left out, for the images are older: a name that the server does not know stops it.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VALUE_OPTIONS = _words(
    """
    alias cache-reuse chat-template cpu-mask cpu-mask-batch cpu-range cpu-range-batch cpu-strict cpu-strict-batch
    ctx-checkpoints device dry-allowed-length dry-base dry-multiplier dry-penalty-last-n dry-sequence-breaker
    dynatemp-exp dynatemp-range fit fit-ctx fit-target frequency-penalty grammar json-schema keep log-colors logit-bias
    log-verbosity main-gpu min-p mirostat mirostat-ent mirostat-lr n-cpu-moe numa override-kv override-tensor poll
    poll-batch presence-penalty prio prio-batch reasoning-format repeat-last-n repeat-penalty reverse-prompt
    rope-freq-base rope-freq-scale rope-scale rope-scaling sampler-seq samplers seed slot-prompt-similarity split-mode
    temp tensor-split threads-batch timeout top-k top-p typical xtc-probability xtc-threshold yarn-attn-factor
    yarn-beta-fast yarn-beta-slow yarn-ext-factor yarn-orig-ctx
    """
)
"""Each takes a value."""

FLAG_OPTIONS = _words(
    """
    check-tensors context-shift cpu-moe ignore-eos kv-unified log-prefix log-timestamps no-cache-prompt
    no-cont-batching no-escape no-host no-kv-offload no-kv-unified no-log-prefix no-log-timestamps no-op-offload
    no-perf no-prefill-assistant no-repack no-slots no-warmup perf special swa-full
    """
)
"""Each stands alone."""

# What is said elsewhere, and where.
_SAID_ELSEWHERE = {
    "threads": "give threads to the compute",
    "n-gpu-layers": "give gpu_layers to the GpuPool",
    "gpu-layers": "give gpu_layers to the GpuPool",
    "model": "the endpoint serves the first file of its packaged model, and no other",
    "ctx-size": "it is a setting of its own, ctx_size",
    "parallel": "it is a setting of its own, parallel",
    "batch-size": "it is a setting of its own, batch_size",
    "ubatch-size": "it is a setting of its own, ubatch_size",
    "n-predict": "it is a setting of its own, n_predict",
    "predict": "it is a setting of its own, n_predict",
    "flash-attn": "it is a setting of its own, flash_attn",
    "cache-type-k": "it is a setting of its own, cache_type_k",
    "cache-type-v": "it is a setting of its own, cache_type_v",
    "cache-ram": "it is a setting of its own, cache_ram_mib",
    "threads-http": "it is a setting of its own, threads_http",
    "metrics": "it is a setting of its own, metrics",
    "jinja": "it is a setting of its own, jinja",
    "no-jinja": "it is a setting of its own, jinja",
    "chat-template-kwargs": "it is a setting of its own, chat_template_kwargs",
    "reasoning-budget": "it is a setting of its own, reasoning_budget",
}
_NETWORK = "the container has no network, and what it ran would not be what was verified: put it into the package"
_ADDRESS = "the container's own proxy reaches the server at its fixed address"
_KEY = "SageMaker checks the caller (IAM), and InvokeEndpoint carries no key of llama-server"
_FILE = "the model's folder is read-only and holds the packaged model alone"
_TOOLS = "it lets callers run programs in the container"
_OTHER_API = "InvokeEndpoint reaches chat completions alone"
_ENDS = "the server would print it and end"
_REASONS = {
    _NETWORK: "docker-repo hf-file hf-file-v hf-repo hf-repo-draft hf-repo-v hf-token mmproj-url model-url offline rpc",
    _ADDRESS: "api-prefix host path port reuse-port ssl-cert-file ssl-key-file",
    _KEY: "api-key api-key-file",
    _FILE: (
        "chat-template-file control-vector control-vector-layer-range control-vector-scaled grammar-file "
        "json-schema-file log-file lookup-cache-dynamic lookup-cache-static lora lora-init-without-apply lora-scaled "
        "media-path mmproj model-draft models-autoload models-dir models-max models-preset slot-save-path "
        "spec-draft-model"
    ),
    _TOOLS: "agent mcp-servers-config mcp-servers-json tools tools-runtime ui-mcp-proxy webui-mcp-proxy",
    _OTHER_API: "embedding embeddings pooling props rerank reranking spm-infill ui webui",
    _ENDS: "cache-list completion-bash help license list-devices usage version",
    "alarms and people read its log": "log-disable",
}
REFUSED_OPTIONS = _SAID_ELSEWHERE | {name: reason for reason, names in _REASONS.items() for name in names.split()}
"""Options that llama-server knows and an endpoint cannot use or says elsewhere, each with the reason."""
