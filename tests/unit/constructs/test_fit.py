"""A model that its instances cannot hold is refused at synth; the numbers here are the adapter's own arithmetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration

from decision_endpoints import CpuInstance, GpuPool, GravitonInstance, InvalidArguments
from decision_endpoints.compute import Compute
from decision_endpoints.fit import Load, context_bytes, fit_complaints
from decision_provenance.gguf import GgufFacts
from tests.support.synth import FACTS, endpoint, new_stack, source

GIB = 2**30
# 4 KiB for each token in each layer: 2 × 8 heads × 128 wide × 2 bytes.
LARGE = GgufFacts(
    version=3, architecture="llama", block_count=32, embedding_length=4096, head_count=32, head_count_kv=8
)


def _load(model_gib: float, context_gib: float = 0) -> Load:
    return Load(model_bytes=int(model_gib * GIB), context_bytes=int(context_gib * GIB))


def test_a_context_holds_keys_and_values_of_each_layer_for_each_sequence() -> None:
    assert context_bytes(LARGE, context_tokens=4096, prefixes=2) == 3 * 4096 * 32 * 4096


def test_a_context_is_rounded_up_as_llama_cpp_does() -> None:
    assert context_bytes(LARGE, context_tokens=257, prefixes=1) == context_bytes(LARGE, context_tokens=512, prefixes=1)


@pytest.mark.parametrize("unknown", ["block_count", "embedding_length", "head_count", "head_count_kv"])
def test_with_an_unknown_fact_the_bytes_alone_count(unknown: str) -> None:
    facts = GgufFacts.from_json(LARGE.to_json() | {unknown: None})

    assert context_bytes(facts, context_tokens=4096, prefixes=2) == 0


@pytest.mark.parametrize(
    ("compute", "fits_gib"),
    [
        # What runs the model takes 1.5 GiB of a host, and 1 GiB of each GPU.
        (CpuInstance("ml.c6i.xlarge"), 6.5),
        (GravitonInstance("ml.c7g.xlarge"), 6.5),
        (GpuPool(["ml.g5.xlarge"]), 21),
        (GpuPool(["ml.g5.12xlarge"]), 84),
        (GpuPool(["ml.g6e.xlarge", "ml.g4dn.xlarge"]), 14),
        # With some layers on the CPU, host and GPU share it.
        (GpuPool(["ml.g5.xlarge"], gpu_layers=10), 35.5),
    ],
)
def test_the_smallest_member_decides(compute: Compute, fits_gib: float) -> None:
    assert fit_complaints(_load(fits_gib), compute) == []
    assert len(fit_complaints(_load(fits_gib + 0.01), compute)) == 1


@pytest.mark.parametrize(
    ("load", "compute", "sentence"),
    [
        (
            _load(7, 1.5),
            CpuInstance("ml.c6i.xlarge"),
            "the model needs 10.0 GiB (7.0 its files, 1.5 its context, 1.5 what runs it) and ml.c6i.xlarge has 8 GiB: "
            "2.0 GiB are missing; the smallest CPU instance that fits is ml.r6i.large, "
            "or give fewer context_tokens or prefixes",
        ),
        (
            _load(40),
            GravitonInstance("ml.c7g.4xlarge"),
            "the model needs 41.5 GiB (40.0 its files, 1.5 what runs it) and ml.c7g.4xlarge has 32 GiB: "
            "9.5 GiB are missing; the smallest Graviton instance that fits is ml.r6g.2xlarge",
        ),
        (
            _load(24),
            GpuPool(["ml.g6e.xlarge", "ml.g5.xlarge", "ml.g4dn.xlarge"]),
            "the model needs 25.0 GiB (24.0 its files, 1.0 what runs it) and ml.g4dn.xlarge has 15 GiB of GPU memory: "
            "10.0 GiB are missing, and ml.g5.xlarge cannot hold it either; "
            "the smallest GPU instance that fits is ml.g6e.xlarge",
        ),
        (
            _load(400),
            GpuPool(["ml.g6e.48xlarge"]),
            "the model needs 408.0 GiB (400.0 its files, 8.0 what runs it) and ml.g6e.48xlarge has 352 GiB of GPU "
            "memory: 56.0 GiB are missing; no GPU instance of the catalog is large enough",
        ),
    ],
)
def test_the_refusal_names_what_is_missing_and_the_smallest_that_fits(
    load: Load, compute: Compute, sentence: str
) -> None:
    assert fit_complaints(load, compute) == [sentence]


def test_a_little_that_is_missing_never_reads_as_nothing() -> None:
    (sentence,) = fit_complaints(_load(6.51), CpuInstance("ml.c6i.xlarge"))

    assert "0.1 GiB are missing" in sentence


def _endpoint(folder: Path, facts: GgufFacts, **settings: Any) -> None:
    endpoint(new_stack(), source(folder, facts=facts), **settings)


def test_an_endpoint_whose_context_does_not_fit_is_refused_together_with_all_else(tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments) as refused:
        _endpoint(tmp_path, LARGE, prefixes=64, instance_count=0, download_timeout=Duration.seconds(1))

    assert [complaint.partition(" ")[0] for complaint in refused.value.complaints] == [
        "the",
        "instance_count",
        "download_timeout",
    ]
    assert "the smallest CPU instance that fits is" in refused.value.complaints[0]


def test_an_endpoint_counts_the_files_of_its_model(tmp_path: Path) -> None:
    with pytest.raises(InvalidArguments, match=r"80\.0 its files"):
        endpoint(new_stack(), source(tmp_path, path=tmp_path / "elsewhere.gguf", facts=FACTS, bytes=80 * GIB))
