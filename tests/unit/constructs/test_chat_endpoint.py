from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aws_cdk.assertions import Template

from decision_endpoints import DlcImage, EcrImage, GpuPool, InvalidArguments, LlamaServerSettings
from decision_provenance.gguf import GgufFacts
from tests.support.synth import IMAGE, chat_endpoint, new_stack, resources, source

# 4 KiB for each token in each layer: 2 × 8 heads × 128 wide × 2 bytes.
LARGE = GgufFacts(
    version=3, architecture="llama", block_count=32, embedding_length=4096, head_count=32, head_count_kv=8
)


def _container(template: Template) -> dict[str, Any]:
    (model,) = resources(template, "AWS::SageMaker::Model")
    return dict(model["Properties"]["PrimaryContainer"])


def _refused(folder: Path, **settings: Any) -> list[str]:
    facts = settings.pop("facts", LARGE)
    with pytest.raises(InvalidArguments) as refused:
        chat_endpoint(new_stack(), source(folder, facts=facts), **settings)
    return list(refused.value.complaints)


def test_the_stock_container_is_told_the_exact_file_and_how_to_serve_it(chat: Template) -> None:
    environment = _container(chat)["Environment"]

    # Else the first .gguf by name is served: a projector, or a shard of the middle.
    assert environment["SM_LLAMA_CPP_MODEL"] == "/opt/ml/model/tiny.gguf"
    assert environment["SM_LLAMA_CPP_THREADS"] == "2"
    assert environment["SM_LLAMA_CPP_PARALLEL"] == "2"
    # The model was trained for 2048 tokens: so many for each of both.
    assert environment["SM_LLAMA_CPP_CTX_SIZE"] == "4096"
    assert environment["SM_LLAMA_CPP_TEMP"] == "0.2"
    assert environment["SM_LLAMA_CPP_NO_WARMUP"] == "true"
    assert not [name for name in environment if not name.startswith("SM_LLAMA_CPP_")]


def test_the_stock_container_is_pulled_by_digest_from_the_region(chat: Template) -> None:
    image = _container(chat)["Image"]

    assert image == f"763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:{'1f19c220' * 8}"


def test_a_pool_offloads_all_layers_of_a_copied_image(tmp_path: Path) -> None:
    stack = new_stack()
    chat_endpoint(stack, source(tmp_path), image=EcrImage(IMAGE), compute=GpuPool(["ml.g5.xlarge"]))

    environment = _container(Template.from_stack(stack))["Environment"]
    assert environment["SM_LLAMA_CPP_N_GPU_LAYERS"] == "10000"


def test_the_context_of_all_requests_counts_for_the_fit(tmp_path: Path) -> None:
    # 128 KiB a token: 16 × 4096 tokens are 8 GiB.
    (complaint,) = _refused(tmp_path, settings=LlamaServerSettings(parallel=16))

    assert complaint.startswith("the model needs 9.5 GiB (0.0 its files, 8.0 its context, 1.5 what runs it)")
    assert complaint.endswith("or give fewer ctx_size or cache_ram_mib")


def test_a_smaller_cache_type_takes_less_of_it(tmp_path: Path) -> None:
    settings = LlamaServerSettings(parallel=16, cache_type_k="q4_0", cache_type_v="q4_0")

    made = chat_endpoint(new_stack(), source(tmp_path, facts=LARGE), settings=settings)

    assert made.settings is settings


def test_the_memory_for_earlier_prompts_counts_on_a_host_without_a_gpu(tmp_path: Path) -> None:
    (complaint,) = _refused(tmp_path, settings=LlamaServerSettings(cache_ram_mib=8192))

    assert "8.5 its context" in complaint


def test_the_memory_for_earlier_prompts_is_the_hosts_also_with_a_gpu(tmp_path: Path) -> None:
    (complaint,) = _refused(
        tmp_path,
        image=DlcImage("cuda", digest=f"sha256:{'9f2eb2d9' * 8}"),
        compute=GpuPool(["ml.g5.xlarge"]),
        settings=LlamaServerSettings(cache_ram_mib=10_000),
    )

    assert complaint == "cache_ram_mib is 10000 and ml.g5.xlarge has 16 GiB of memory: give at most 8192"


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        (LlamaServerSettings(ctx_size=1000, parallel=8), "gives each request 125 tokens: give at least 128 for each"),
        (LlamaServerSettings(ctx_size=8192, parallel=2), "and the model was trained for 2048: give at most that"),
    ],
)
def test_a_context_that_is_no_use_to_a_request_is_refused(
    tmp_path: Path, settings: LlamaServerSettings, found: str
) -> None:
    facts = GgufFacts(version=3, architecture="llama", context_length=2048)

    (complaint,) = _refused(tmp_path, facts=facts, settings=settings)
    assert found in complaint
