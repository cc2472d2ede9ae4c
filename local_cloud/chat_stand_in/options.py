"""llama-server's options, as far as the stand-in applies them: each is a field of llama.cpp's `common_params`.

Source: llama.cpp `common/arg.cpp` and `common/common.h`, whose fields xllamacpp has under the same names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import xllamacpp  # type: ignore[import-untyped]

Set = Callable[[Any, str], None]
"""`set(params, text)`; raises ValueError for a text that is no such value."""


def _field(path: str, parse: Callable[[str], Any]) -> Set:
    *parents, name = path.split(".")

    def apply(params: Any, text: str) -> None:
        for parent in parents:
            params = getattr(params, parent)
        setattr(params, name, parse(text))

    return apply


def _one_of(allowed: Mapping[str, Any]) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        if text not in allowed:
            raise ValueError(f"allowed: {', '.join(allowed)}")
        return allowed[text]

    return parse


def _template_arguments(text: str) -> dict[str, str]:
    return {name: json.dumps(value) for name, value in json.loads(text).items()}


def _time_limit(params: Any, text: str) -> None:
    params.timeout_read = params.timeout_write = int(text)


_flash_attn = xllamacpp.llama_flash_attn_type
_FLASH_ATTN = {
    "auto": _flash_attn.LLAMA_FLASH_ATTN_TYPE_AUTO,
    "on": _flash_attn.LLAMA_FLASH_ATTN_TYPE_ENABLED,
    "off": _flash_attn.LLAMA_FLASH_ATTN_TYPE_DISABLED,
}
_CACHE_TYPES = {
    name: getattr(xllamacpp.ggml_type, f"GGML_TYPE_{name.upper()}")
    for name in ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")
}
_INTEGERS = {
    "batch-size": "n_batch",
    "cache-ram": "cache_ram_mib",
    "cache-reuse": "n_cache_reuse",
    "ctx-checkpoints": "n_ctx_checkpoints",
    "ctx-size": "n_ctx",
    "dry-allowed-length": "sampling.dry_allowed_length",
    "dry-penalty-last-n": "sampling.dry_penalty_last_n",
    "gpu-layers": "n_gpu_layers",
    "keep": "n_keep",
    "log-verbosity": "verbosity",
    "mirostat": "sampling.mirostat",
    "n-gpu-layers": "n_gpu_layers",
    "n-predict": "n_predict",
    "parallel": "n_parallel",
    "predict": "n_predict",
    "reasoning-budget": "sampling.reasoning_budget_tokens",
    "repeat-last-n": "sampling.penalty_last_n",
    "seed": "sampling.seed",
    "threads": "cpuparams.n_threads",
    "threads-batch": "cpuparams_batch.n_threads",
    "threads-http": "n_threads_http",
    "top-k": "sampling.top_k",
    "ubatch-size": "n_ubatch",
    "yarn-orig-ctx": "yarn_orig_ctx",
}
_NUMBERS = {
    "dry-base": "sampling.dry_base",
    "dry-multiplier": "sampling.dry_multiplier",
    "dynatemp-exp": "sampling.dynatemp_exponent",
    "dynatemp-range": "sampling.dynatemp_range",
    "frequency-penalty": "sampling.penalty_freq",
    "min-p": "sampling.min_p",
    "mirostat-ent": "sampling.mirostat_tau",
    "mirostat-lr": "sampling.mirostat_eta",
    "presence-penalty": "sampling.penalty_present",
    "repeat-penalty": "sampling.penalty_repeat",
    "rope-freq-base": "rope_freq_base",
    "rope-freq-scale": "rope_freq_scale",
    "slot-prompt-similarity": "slot_prompt_similarity",
    "temp": "sampling.temp",
    "top-p": "sampling.top_p",
    "typical": "sampling.typ_p",
    "xtc-probability": "sampling.xtc_probability",
    "xtc-threshold": "sampling.xtc_threshold",
    "yarn-attn-factor": "yarn_attn_factor",
    "yarn-beta-fast": "yarn_beta_fast",
    "yarn-beta-slow": "yarn_beta_slow",
    "yarn-ext-factor": "yarn_ext_factor",
}
_VALUES: dict[str, Set] = {
    **{option: _field(path, int) for option, path in _INTEGERS.items()},
    **{option: _field(path, float) for option, path in _NUMBERS.items()},
    "alias": _field("model_alias", lambda text: {text}),
    "cache-type-k": _field("cache_type_k", _one_of(_CACHE_TYPES)),
    "cache-type-v": _field("cache_type_v", _one_of(_CACHE_TYPES)),
    "chat-template": _field("chat_template", str),
    "chat-template-kwargs": _field("default_template_kwargs", _template_arguments),
    "flash-attn": _field("flash_attn_type", _one_of(_FLASH_ATTN)),
    "model": _field("model.path", str),
    "timeout": _time_limit,
}
_FLAGS: dict[str, tuple[str, bool]] = {
    "check-tensors": ("check_tensors", True),
    "context-shift": ("ctx_shift", True),
    "ignore-eos": ("sampling.ignore_eos", True),
    "jinja": ("use_jinja", True),
    "kv-unified": ("kv_unified", True),
    "metrics": ("endpoint_metrics", True),
    "no-cache-prompt": ("cache_prompt", False),
    "no-cont-batching": ("cont_batching", False),
    "no-escape": ("escape", False),
    "no-host": ("no_host", True),
    "no-jinja": ("use_jinja", False),
    "no-kv-offload": ("no_kv_offload", True),
    "no-kv-unified": ("kv_unified", False),
    "no-op-offload": ("no_op_offload", True),
    "no-perf": ("no_perf", True),
    "no-prefill-assistant": ("prefill_assistant", False),
    "no-repack": ("no_extra_bufts", True),
    "no-slots": ("endpoint_slots", False),
    "no-warmup": ("warmup", False),
    "perf": ("no_perf", False),
    "special": ("special", True),
    "swa-full": ("swa_full", True),
}

# llama-server has them too. Here they are only said to be left out: they concern devices, logs or rare samplers.
_NOT_APPLIED_WORDS = """
    cpu-mask cpu-mask-batch cpu-moe cpu-range cpu-range-batch cpu-strict cpu-strict-batch device dry-sequence-breaker
    fit fit-ctx fit-target grammar json-schema log-colors log-prefix log-timestamps logit-bias main-gpu n-cpu-moe
    no-log-prefix no-log-timestamps numa override-kv override-tensor poll poll-batch prio prio-batch reasoning-format
    reverse-prompt rope-scale rope-scaling sampler-seq samplers split-mode tensor-split
"""
NOT_APPLIED = frozenset(_NOT_APPLIED_WORDS.split())
KNOWN = frozenset(_VALUES) | frozenset(_FLAGS) | NOT_APPLIED


class ArgumentError(Exception):
    """llama-server would not start with this command line; the text is its message."""


@dataclass(frozen=True)
class Argument:
    """One option of the command line, without its dashes; a bare flag has no value."""

    option: str
    value: str | None

    def __str__(self) -> str:
        return f"--{self.option}" if self.value is None else f"--{self.option} {self.value}"


def apply(arguments: Iterable[Argument]) -> tuple[Any, list[Argument]]:
    """The `common_params` of a command line, and the arguments of it that have no effect here.

    Raises
    ------
    ArgumentError
        For the first option that llama-server does not know, or whose value it does not take.
    """
    params, left_out = xllamacpp.CommonParams(), []
    given = list(arguments)
    for argument in given:
        if argument.option in NOT_APPLIED:
            left_out.append(argument)
        else:
            _apply(params, argument)
    if "threads-batch" not in [argument.option for argument in given]:
        params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    return params, left_out


def _apply(params: Any, argument: Argument) -> None:
    if argument.option in _FLAGS:
        if argument.value is not None:
            raise ArgumentError(f"error: invalid argument: {argument.value}")
        path, value = _FLAGS[argument.option]
        _field(path, lambda _text: value)(params, "")
    elif argument.option in _VALUES:
        if argument.value is None:
            raise ArgumentError(f'error while handling argument "--{argument.option}": expected value for argument')
        try:
            _VALUES[argument.option](params, argument.value)
        except (ValueError, TypeError, OverflowError, AttributeError) as error:
            raise ArgumentError(f'error while handling argument "{argument}": {error}') from error
    else:
        raise ArgumentError(f"error: invalid argument: --{argument.option}")
