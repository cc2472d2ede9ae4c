from __future__ import annotations

from typing import Any

import pytest

from decision_endpoints import InvalidArguments, LlamaServerSettings
from decision_endpoints.llama_server_options import FLAG_OPTIONS, REFUSED_OPTIONS, VALUE_OPTIONS


def _complaints(**settings: Any) -> list[str]:
    with pytest.raises(InvalidArguments) as refused:
        LlamaServerSettings(**settings)
    return list(refused.value.complaints)


def test_settings_become_the_variables_that_the_container_turns_into_options() -> None:
    settings = LlamaServerSettings(
        parallel=4,
        ctx_size=16384,
        cache_type_k="q8_0",
        threads_http=8,
        chat_template_kwargs={"enable_thinking": False, "a": 1},
        reasoning_budget=0,
        extra={"top-k": "20"},
    )

    assert settings.environment() == {
        "SM_LLAMA_CPP_PARALLEL": "4",
        "SM_LLAMA_CPP_CTX_SIZE": "16384",
        "SM_LLAMA_CPP_BATCH_SIZE": "2048",
        "SM_LLAMA_CPP_UBATCH_SIZE": "512",
        "SM_LLAMA_CPP_N_PREDICT": "1024",
        "SM_LLAMA_CPP_FLASH_ATTN": "auto",
        "SM_LLAMA_CPP_CACHE_TYPE_K": "q8_0",
        "SM_LLAMA_CPP_CACHE_TYPE_V": "f16",
        "SM_LLAMA_CPP_CACHE_RAM": "0",
        "SM_LLAMA_CPP_THREADS_HTTP": "8",
        "SM_LLAMA_CPP_METRICS": "true",
        "SM_LLAMA_CPP_JINJA": "true",
        "SM_LLAMA_CPP_CHAT_TEMPLATE_KWARGS": '{"a":1,"enable_thinking":false}',
        "SM_LLAMA_CPP_REASONING_BUDGET": "0",
        "SM_LLAMA_CPP_TOP_K": "20",
    }


def test_what_is_off_is_never_false_since_the_container_drops_that() -> None:
    environment = LlamaServerSettings(metrics=False, jinja=False).environment()

    assert "SM_LLAMA_CPP_METRICS" not in environment
    # On by default: left out, it would stay on.
    assert environment["SM_LLAMA_CPP_NO_JINJA"] == "true"
    assert "SM_LLAMA_CPP_JINJA" not in environment
    assert "false" not in environment.values()


@pytest.mark.parametrize(
    ("option", "nearest"),
    [("tmp", "temp"), ("top_k", "top-k"), ("--top-k", "top-k"), ("no-warm-up", "no-warmup"), ("Temp", "temp")],
)
def test_a_typo_that_would_stop_the_server_is_refused_with_the_nearest_option(option: str, nearest: str) -> None:
    (complaint,) = _complaints(extra={option: "1"})

    assert complaint == f"extra has {option!r}, which llama-server would not start with: did you mean {nearest}?"


def test_an_option_like_none_is_not_answered_with_all_of_them() -> None:
    (complaint,) = _complaints(extra={"zzzzzz": "1"})

    assert "llama-server --help" in complaint
    assert len(complaint) < 160


@pytest.mark.parametrize(
    ("option", "reason"),
    [
        ("hf-repo", "has no network"),
        ("hf-token", "has no network"),
        ("host", "its fixed address"),
        ("port", "its fixed address"),
        ("api-key-file", "InvokeEndpoint carries no key"),
        ("mmproj", "the packaged model alone"),
        ("tools", "run programs"),
        ("embeddings", "chat completions alone"),
        ("threads", "give threads to the compute"),
        ("n-gpu-layers", "give gpu_layers to the GpuPool"),
        ("ctx-size", "a setting of its own"),
        ("model", "the first file of its packaged model"),
    ],
)
def test_an_option_that_an_endpoint_cannot_use_is_refused_with_the_reason(option: str, reason: str) -> None:
    (complaint,) = _complaints(extra={option: "1"})

    assert complaint.startswith(f"extra has {option!r}: ")
    assert reason in complaint


@pytest.mark.parametrize("value", ["", " ", "two\nlines", "true", "false", "a\u2028b"])
def test_a_value_that_would_not_arrive_is_refused(value: str) -> None:
    (complaint,) = _complaints(extra={"temp": value})

    assert "in one line" in complaint


@pytest.mark.parametrize("value", ["", "1", "false", "True"])
def test_a_flag_is_true_or_left_out(value: str) -> None:
    (complaint,) = _complaints(extra={"no-warmup": value})

    assert complaint == f"no-warmup of extra is {value!r}: a flag is 'true', or left out"


def test_all_that_is_wrong_with_the_settings_is_said_in_one_message() -> None:
    complaints = _complaints(
        parallel=0,
        ctx_size=0,
        batch_size=256,
        ubatch_size=512,
        n_predict=0,
        cache_ram_mib=-1,
        threads_http=0,
        flash_attn="off",
        cache_type_k="q8",
        cache_type_v="q8_0",
        chat_template_kwargs={"a": float("nan")},
        reasoning_budget=-2,
        extra={"tmp": "1"},
    )

    found = [
        "parallel is 0: give 1 to 256",
        "ctx_size is 0",
        "ubatch_size is 512: give 1 to 256",
        "n_predict is 0",
        "cache_ram_mib is -1",
        "threads_http is 0",
        "cache_type_k is 'q8': did you mean q8_0?",
        "cache_type_v is q8_0 and flash_attn is off",
        "reasoning_budget is -2",
        "chat_template_kwargs cannot be written as a JSON object",
        "extra has 'tmp'",
    ]
    assert len(complaints) == len(found)
    assert all(part in complaint for part, complaint in zip(found, complaints, strict=True))


def test_no_option_is_of_two_kinds() -> None:
    assert not VALUE_OPTIONS & FLAG_OPTIONS
    assert not (VALUE_OPTIONS | FLAG_OPTIONS) & set(REFUSED_OPTIONS)
