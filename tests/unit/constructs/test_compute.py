from __future__ import annotations

from collections.abc import Mapping

import botocore.session
import pytest
from botocore.model import StringShape

from decision_adapter.settings import Settings
from decision_endpoints import CpuInstance, GpuPool, GravitonInstance, InvalidArguments
from decision_endpoints.compute import ALL_LAYERS, DRIVER_AMI
from decision_endpoints.instance_catalog import CPU_INSTANCES, GPU_INSTANCES, GRAVITON_INSTANCES, InstanceFacts

Single = type[CpuInstance] | type[GravitonInstance]
CATALOGS = [CPU_INSTANCES, GRAVITON_INSTANCES, GPU_INSTANCES]


def _choices(shape_name: str) -> list[str]:
    shape = botocore.session.get_session().get_service_model("sagemaker").shape_for(shape_name)
    assert isinstance(shape, StringShape)
    return list(shape.enum)


@pytest.mark.parametrize("catalog", CATALOGS, ids=["cpu", "graviton", "gpu"])
def test_sagemaker_hosts_exactly_the_types_of_the_catalogs_families(catalog: Mapping[str, InstanceFacts]) -> None:
    families = {facts.family for facts in catalog.values()}

    hosted = {name for name in _choices("ProductionVariantInstanceType") if name.rpartition(".")[0] in families}
    assert hosted == set(catalog)


def test_no_type_is_in_two_catalogs() -> None:
    assert sum(len(catalog) for catalog in CATALOGS) == len({name for catalog in CATALOGS for name in catalog})


@pytest.mark.parametrize(
    "facts",
    [
        InstanceFacts("ml.c5.9xlarge", vcpus=36, memory_gib=72),
        InstanceFacts("ml.r7i.2xlarge", vcpus=8, memory_gib=64),
        InstanceFacts("ml.m8g.medium", vcpus=1, memory_gib=4, architecture="arm64"),
        InstanceFacts("ml.g4dn.12xlarge", vcpus=48, memory_gib=192, gpus=4, gpu_memory_gib=60, local_nvme=True),
        InstanceFacts("ml.g5.16xlarge", vcpus=64, memory_gib=256, gpus=1, gpu_memory_gib=22, local_nvme=True),
        InstanceFacts("ml.g6e.48xlarge", vcpus=192, memory_gib=1536, gpus=8, gpu_memory_gib=352, local_nvme=True),
    ],
    ids=lambda facts: facts.name,
)
def test_the_table_gives_what_ec2_specifies(facts: InstanceFacts) -> None:
    assert (CPU_INSTANCES | GRAVITON_INSTANCES | GPU_INSTANCES)[facts.name] == facts


def test_threads_default_to_physical_cores() -> None:
    assert CpuInstance("ml.c6i.8xlarge").threads == 16
    assert GravitonInstance("ml.c8g.8xlarge").threads == 32
    assert GravitonInstance("ml.c8g.medium").threads == 1
    assert GpuPool(["ml.g5.4xlarge", "ml.g6e.xlarge"]).threads == 2


@pytest.mark.parametrize("threads", [0, -1, 5])
@pytest.mark.parametrize(("kind", "name"), [(CpuInstance, "ml.c6i.xlarge"), (GravitonInstance, "ml.c7g.xlarge")])
def test_more_threads_than_vcpus_are_refused_with_the_range(kind: Single, name: str, threads: int) -> None:
    with pytest.raises(InvalidArguments, match=rf"{kind.__name__}: .*{name} has 4 vCPUs: give 1 to 4"):
        kind(name, threads=threads)


@pytest.mark.parametrize(("kind", "name"), [(CpuInstance, "ml.c6i.xlarge"), (GravitonInstance, "ml.c7g.xlarge")])
def test_an_unknown_type_is_refused_with_the_nearest_one(kind: Single, name: str) -> None:
    with pytest.raises(InvalidArguments, match=rf"did you mean {name}\?"):
        kind(name.replace("xlarge", "xlrage"))


@pytest.mark.parametrize(
    ("kind", "name", "right"),
    [
        (CpuInstance, "ml.c7g.xlarge", "is a Graviton instance: give it to GravitonInstance"),
        (CpuInstance, "ml.g5.xlarge", "is a GPU instance: give it to GpuPool"),
        (GravitonInstance, "ml.c6i.xlarge", "is a CPU instance: give it to CpuInstance"),
    ],
)
def test_a_type_of_another_kind_is_refused_with_what_takes_it(kind: Single, name: str, right: str) -> None:
    with pytest.raises(InvalidArguments, match=right):
        kind(name)


def test_a_wrong_type_and_wrong_threads_are_said_together() -> None:
    with pytest.raises(InvalidArguments) as refused:
        CpuInstance("ml.c6i.huge", threads=0)

    assert len(refused.value.complaints) == 2


def test_the_adapter_takes_the_number_that_stands_for_all_layers() -> None:
    assert Settings.from_environment({"DECISION_GPU_LAYERS": str(ALL_LAYERS)}).gpu_layers == ALL_LAYERS


def test_a_pool_comes_with_a_host_that_sagemaker_offers() -> None:
    assert GpuPool(["ml.g5.xlarge"]).inference_ami_version == DRIVER_AMI
    assert DRIVER_AMI in _choices("ProductionVariantInferenceAmiVersion")


@pytest.mark.parametrize("version", [v for v in _choices("ProductionVariantInferenceAmiVersion") if "-gpu-" in v])
def test_a_pool_takes_every_host_of_sagemaker_that_has_a_gpu_driver(version: str) -> None:
    assert GpuPool(["ml.g5.xlarge"], inference_ami_version=version).inference_ami_version == version


@pytest.mark.parametrize(
    ("types", "complaint"),
    [
        ([], "instance_types has 0 types: give 1 to 5"),
        (list(GPU_INSTANCES)[:6], "instance_types has 6 types: give 1 to 5"),
        (["ml.g5.xlarge", "ml.g6.xlarge", "ml.g5.xlarge"], "ml.g5.xlarge is there 2 times: name each type once"),
        (["ml.g5.xlarge", "ml.c6i.xlarge"], "'ml.c6i.xlarge' is a CPU instance: give it to CpuInstance"),
        (["ml.g6e.xlrage"], "'ml.g6e.xlrage' is no GPU instance of the catalog: did you mean ml.g6e.xlarge?"),
        ("ml.g6e.xlrage", "did you mean ml.g6e.xlarge?"),
    ],
)
def test_a_pool_that_sagemaker_would_refuse_is_refused(types: list[str], complaint: str) -> None:
    with pytest.raises(InvalidArguments) as refused:
        GpuPool(types)

    (sentence,) = refused.value.complaints
    assert complaint in sentence


def test_all_that_is_wrong_with_a_pool_is_said_in_one_message() -> None:
    with pytest.raises(InvalidArguments) as refused:
        GpuPool(
            [*["ml.g5.xlarge"] * 5, "ml.c6i.xlarge"],
            gpu_layers=0,
            inference_ami_version="al2-ami-sagemaker-inference-neuron-2",
        )

    found = ["6 types", "ml.g5.xlarge is there 5 times", "ml.c6i.xlarge", "gpu_layers is 0", "brings no GPU driver"]
    assert len(refused.value.complaints) == len(found)
    assert all(part in complaint for part, complaint in zip(found, refused.value.complaints, strict=True))
