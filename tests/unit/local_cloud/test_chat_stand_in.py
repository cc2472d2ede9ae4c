"""The stand-in for the stock container knows llama-server's options, and applies them as llama-server does."""

from __future__ import annotations

from pathlib import Path

import pytest

from decision_endpoints.llama_server_options import FLAG_OPTIONS, VALUE_OPTIONS
from decision_endpoints.llama_server_settings import LlamaServerSettings
from local_cloud.chat_stand_in.options import KNOWN, Argument, ArgumentError, apply
from local_cloud.chat_stand_in.settings import arguments


def test_every_option_that_a_chat_endpoint_may_set_is_known() -> None:
    unknown = (VALUE_OPTIONS | FLAG_OPTIONS) - KNOWN

    assert not unknown


def test_the_settings_of_a_chat_endpoint_are_applied() -> None:
    settings = LlamaServerSettings(
        parallel=2,
        ctx_size=1024,
        n_predict=7,
        flash_attn="off",
        threads_http=3,
        jinja=False,
        chat_template_kwargs={"enable_thinking": False},
        reasoning_budget=0,
        extra={"temp": "0.25", "no-warmup": "true"},
    )

    params, left_out = apply(arguments(settings.environment()))

    assert (params.n_parallel, params.n_ctx, params.n_predict, params.n_threads_http) == (2, 1024, 7, 3)
    assert (params.use_jinja, params.warmup, params.endpoint_metrics) == (False, False, True)
    assert params.sampling.temp == 0.25
    assert params.default_template_kwargs == {"enable_thinking": "false"}
    assert left_out == []


def test_threads_of_batches_follow_the_threads() -> None:
    params, _ = apply([Argument("threads", "3")])

    assert params.cpuparams_batch.n_threads == 3


def test_true_is_a_bare_flag_and_false_is_dropped() -> None:
    environment = {"SM_LLAMA_CPP_METRICS": "true", "SM_LLAMA_CPP_JINJA": "false", "OTHER": "true"}

    assert arguments(environment) == [Argument("metrics", None)]


@pytest.mark.parametrize(
    "argument",
    [Argument("ctx-sise", "1"), Argument("metrics", "yes"), Argument("ctx-size", None), Argument("ctx-size", "many")],
)
def test_what_llama_server_would_not_start_with_is_refused(argument: Argument) -> None:
    with pytest.raises(ArgumentError, match="argument"):
        apply([argument])


def test_the_first_model_by_name_is_served_when_none_is_named(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/a.gguf").touch()
    below = arguments({"SM_LLAMA_CPP_MODEL_DIR": str(tmp_path)})
    for name in ("c.gguf", "b.gguf"):
        (tmp_path / name).touch()

    assert below == [Argument("model", str(tmp_path / "below/a.gguf"))]
    assert arguments({"SM_LLAMA_CPP_MODEL_DIR": str(tmp_path)}) == [Argument("model", str(tmp_path / "b.gguf"))]
