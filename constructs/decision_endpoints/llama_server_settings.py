"""How llama-server runs in the stock container: typed, because one option that it does not know stops it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from .errors import InvalidArguments, did_you_mean
from .llama_server_options import FLAG_OPTIONS, REFUSED_OPTIONS, VALUE_OPTIONS
from .ranges import count_complaints

_VARIABLE_PREFIX = "SM_LLAMA_CPP_"

CacheType = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
CACHE_BITS: dict[str, float] = {
    "f32": 32,
    "f16": 16,
    "bf16": 16,
    "q8_0": 8.5,
    "q5_1": 6,
    "q5_0": 5.5,
    "q4_1": 5,
    "q4_0": 4.5,
    "iq4_nl": 4.5,
}
"""Bits that one value of the context takes, scales of the block formats included."""

_UNQUANTIZED = ("f32", "f16", "bf16")
_FLASH_ATTN = ("auto", "on", "off")


@dataclass(frozen=True, slots=True, kw_only=True)
class LlamaServerSettings:
    """What a `ChatEndpoint` tells llama-server, beside the model, the threads and the layers, which it knows.

    Parameters
    ----------
    parallel:
        Requests that are answered at the same time, 1 to 256; more wait in llama-server's own queue. Default: 1.
    ctx_size:
        Tokens of context of all of them together: each gets ``ctx_size / parallel``, prompt and answer, at least 128
        and at most what the model was trained for. Default: 4096 for each, or the model's own limit if lower.
    batch_size, ubatch_size:
        Tokens that are evaluated together, logically and physically; the second at most the first. Default: 2048 and
        512, llama-server's own.
    n_predict:
        The longest answer in tokens, for requests that set no limit. Default: 1024. llama-server's own is none, and an
        invocation ends after 60 seconds.
    flash_attn:
        ``"auto"``, ``"on"`` or ``"off"``. Default: ``"auto"``.
    cache_type_k, cache_type_v:
        What the context's keys and values are kept as. Anything smaller than 16 bits costs accuracy; of the values, it
        needs flash attention. Default: ``"f16"``.
    cache_ram_mib:
        Host memory for earlier prompts, in MiB. Default: 0, none. llama-server's own is 8192, more than small instances
        have.
    threads_http:
        Threads that read requests. Default: llama-server's own.
    metrics:
        Publish llama-server's own metrics under ``/metrics``, which SageMaker's detailed observability collects.
        Default: True.
    jinja:
        Use the model's chat template. Default: True.
    chat_template_kwargs:
        What the template is told, a JSON object: ``{"enable_thinking": False}``. Default: nothing.
    reasoning_budget:
        Tokens for thinking: -1 for no limit, 0 for none. Default: llama-server's own.
    extra:
        Other options by their long name without the dashes: ``{"temp": "0.2", "no-warmup": "true"}``. Values are one
        line; of a flag, ``"true"``.

    Raises
    ------
    InvalidArguments
        If a number is out of range, or an option of `extra` is unknown (the message names the nearest one), said
        elsewhere, or cannot work in this container; all complaints at once.

    Examples
    --------
    >>> LlamaServerSettings(parallel=4, extra={"temp": "0.2"}).environment()["SM_LLAMA_CPP_TEMP"]
    '0.2'
    >>> LlamaServerSettings(extra={"no-warm-up": "true", "host": "0.0.0.0"})
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: LlamaServerSettings: extra has 'no-warm-up', ... ...;
    extra has 'host': ...

    Source: AWS Deep Learning Containers, llama.cpp for SageMaker AI; llama.cpp `tools/server/README.md`.
    """

    parallel: int = 1
    ctx_size: int | None = None
    batch_size: int = 2048
    ubatch_size: int = 512
    n_predict: int = 1024
    flash_attn: Literal["auto", "on", "off"] = "auto"
    cache_type_k: CacheType = "f16"
    cache_type_v: CacheType = "f16"
    cache_ram_mib: int = 0
    threads_http: int | None = None
    metrics: bool = True
    jinja: bool = True
    chat_template_kwargs: Mapping[str, object] = field(default_factory=dict)
    reasoning_budget: int | None = None
    extra: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        complaints = [
            *count_complaints("parallel", self.parallel, least=1, most=256),
            *(count_complaints("ctx_size", self.ctx_size, least=1) if self.ctx_size is not None else []),
            *count_complaints("batch_size", self.batch_size, least=1),
            *count_complaints("ubatch_size", self.ubatch_size, least=1, most=max(1, self.batch_size)),
            *count_complaints("n_predict", self.n_predict, least=1),
            *count_complaints("cache_ram_mib", self.cache_ram_mib, least=0),
            *(count_complaints("threads_http", self.threads_http, least=1) if self.threads_http is not None else []),
            *_choice_complaints("flash_attn", self.flash_attn, _FLASH_ATTN),
            *_choice_complaints("cache_type_k", self.cache_type_k, CACHE_BITS),
            *_choice_complaints("cache_type_v", self.cache_type_v, CACHE_BITS),
        ]
        if self.flash_attn == "off" and self.cache_type_v not in _UNQUANTIZED:
            allowed = f"give it auto or on, or cache_type_v one of {', '.join(_UNQUANTIZED)}"
            complaints.append(f"cache_type_v is {self.cache_type_v} and flash_attn is off: {allowed}")
        if self.reasoning_budget is not None and self.reasoning_budget < -1:
            complaints.append(f"reasoning_budget is {self.reasoning_budget}: give -1 for no limit, or 0 or more tokens")
        try:
            json.dumps(dict(self.chat_template_kwargs), allow_nan=False)
        except (TypeError, ValueError) as error:
            complaints.append(f"chat_template_kwargs cannot be written as a JSON object ({error}): give plain values")
        complaints += [sentence for name, value in self.extra.items() for sentence in _extra_complaints(name, value)]
        if complaints:
            raise InvalidArguments("LlamaServerSettings", complaints)

    def environment(self) -> dict[str, str]:
        """The container's environment variables. Of a bare flag, the container takes ``true``, and drops ``false``."""
        options: dict[str, str | int | None] = {
            "ctx-size": self.ctx_size,
            "parallel": self.parallel,
            "batch-size": self.batch_size,
            "ubatch-size": self.ubatch_size,
            "n-predict": self.n_predict,
            "flash-attn": self.flash_attn,
            "cache-type-k": self.cache_type_k,
            "cache-type-v": self.cache_type_v,
            "cache-ram": self.cache_ram_mib,
            "threads-http": self.threads_http,
            "metrics": "true" if self.metrics else None,
            "jinja" if self.jinja else "no-jinja": "true",
            "chat-template-kwargs": _json(self.chat_template_kwargs) if self.chat_template_kwargs else None,
            "reasoning-budget": self.reasoning_budget,
            **self.extra,
        }
        return {variable(option): str(value) for option, value in options.items() if value is not None}


def variable(option: str) -> str:
    """The environment variable that the container turns into an option of llama-server.

    >>> variable("n-gpu-layers")
    'SM_LLAMA_CPP_N_GPU_LAYERS'
    """
    return _VARIABLE_PREFIX + option.upper().replace("-", "_")


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(dict(document), sort_keys=True, separators=(",", ":"))


def _choice_complaints(what: str, found: str, allowed: Mapping[str, float] | tuple[str, ...]) -> list[str]:
    return [] if found in allowed else [f"{what} is {found!r}: {did_you_mean(found, allowed)}"]


def _extra_complaints(name: str, value: str) -> list[str]:
    if name in REFUSED_OPTIONS:
        return [f"extra has {name!r}: {REFUSED_OPTIONS[name]}"]
    if name not in VALUE_OPTIONS and name not in FLAG_OPTIONS:
        # One typo stops the server. Every known option is too long a list for a sentence.
        nearest = did_you_mean(name, sorted(VALUE_OPTIONS | FLAG_OPTIONS))
        hint = nearest if nearest.startswith("did you mean") else "`llama-server --help` lists them, without the dashes"
        return [f"extra has {name!r}, which llama-server would not start with: {hint}"]
    if name in FLAG_OPTIONS:
        return [] if value == "true" else [f"{name} of extra is {value!r}: a flag is 'true', or left out"]
    # `true` becomes a bare option, and `false` is dropped.
    if not value.strip() or value in ("true", "false") or len(value.splitlines()) != 1:
        return [f"{name} of extra is {value!r}: give its value, in one line"]
    return []
