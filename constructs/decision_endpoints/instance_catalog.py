"""The instances of SageMaker real-time hosting that llama.cpp runs on, as data.

Names: `ProductionVariantInstanceType` of the SageMaker API model in botocore 1.43.106 (a test compares them). Sizes:
the specifications of the EC2 instance types, as of 2026-12-01.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Architecture = Literal["x86_64", "arm64"]


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """What one instance type has. `memory_gib` is before the host takes its part, `gpu_memory_gib` of all its GPUs."""

    name: str
    vcpus: int
    memory_gib: int
    architecture: Architecture = "x86_64"
    gpus: int = 0
    gpu_memory_gib: int = 0
    local_nvme: bool = False

    @property
    def family(self) -> str:
        """``ml.c6i`` of ``ml.c6i.xlarge``."""
        return self.name.rpartition(".")[0]

    @property
    def physical_cores(self) -> int:
        """Cores that compute: hyper-threads share the vector units, a second one on a core only slows llama.cpp."""
        # A Graviton core has one thread, each x86-64 family here has two a core.
        return self.vcpus if self.architecture == "arm64" else max(1, self.vcpus // 2)


# vCPUs of each size.
_SIZES = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16}
_FIFTH_COMPUTE = _SIZES | {"9xlarge": 36, "18xlarge": 72}
_FIFTH_GENERAL = _SIZES | {"12xlarge": 48, "24xlarge": 96}
_SIXTH = _SIZES | {"8xlarge": 32, "12xlarge": 48, "16xlarge": 64, "24xlarge": 96, "32xlarge": 128}
_SEVENTH = _SIZES | {"8xlarge": 32, "12xlarge": 48, "16xlarge": 64, "24xlarge": 96, "48xlarge": 192}
_GRAVITON = _SIZES | {"8xlarge": 32, "12xlarge": 48, "16xlarge": 64}
_GRAVITON_4 = {"medium": 1} | _GRAVITON | {"24xlarge": 96, "48xlarge": 192}

# Sizes of a family, and GiB of memory for each vCPU.
_CPU_FAMILIES = {
    "c5": (_FIFTH_COMPUTE, 2),
    "c6i": (_SIXTH, 2),
    "c7i": (_SEVENTH, 2),
    "m5": (_FIFTH_GENERAL, 4),
    "m6i": (_SIXTH, 4),
    "m7i": (_SEVENTH, 4),
    "r6i": (_SIXTH, 8),
    "r7i": (_SEVENTH, 8),
}
_GRAVITON_FAMILIES = {
    "c6g": (_GRAVITON, 2),
    "c7g": (_GRAVITON, 2),
    "c8g": (_GRAVITON_4, 2),
    "m6g": (_GRAVITON, 4),
    "m8g": (_GRAVITON_4, 4),
    "r6g": (_GRAVITON, 8),
    "r8g": (_GRAVITON_4, 8),
}

# GPUs of each size.
_ONE_OR_FOUR = {"xlarge": 1, "2xlarge": 1, "4xlarge": 1, "8xlarge": 1, "12xlarge": 4, "16xlarge": 1}
_UP_TO_EIGHT = _ONE_OR_FOUR | {"24xlarge": 4, "48xlarge": 8}
# Sizes of a family, GiB of memory for each vCPU, and whole GiB that one GPU leaves to programs: of the 16, 24, 24 and
# 48 GB of a T4, A10G, L4 and L40S, error correction and the driver keep a part (nvidia-smi: 15360, 23028, 23034 and
# 46068 MiB).
_GPU_FAMILIES = {
    "g4dn": (_ONE_OR_FOUR, 4, 15),
    "g5": (_UP_TO_EIGHT, 4, 22),
    "g6": (_UP_TO_EIGHT, 4, 22),
    "g6e": (_UP_TO_EIGHT, 8, 44),
}
_GPU_VCPUS = _SEVENTH

CPU_INSTANCES = {
    facts.name: facts
    for family, (sizes, gib_per_vcpu) in _CPU_FAMILIES.items()
    for size, vcpus in sizes.items()
    for facts in [InstanceFacts(name=f"ml.{family}.{size}", vcpus=vcpus, memory_gib=vcpus * gib_per_vcpu)]
}
"""x86-64, without a GPU."""

GRAVITON_INSTANCES = {
    facts.name: facts
    for family, (sizes, gib_per_vcpu) in _GRAVITON_FAMILIES.items()
    for size, vcpus in sizes.items()
    for facts in [
        InstanceFacts(name=f"ml.{family}.{size}", vcpus=vcpus, memory_gib=vcpus * gib_per_vcpu, architecture="arm64")
    ]
}
"""AWS's own arm64 processors, without a GPU."""

GPU_INSTANCES = {
    facts.name: facts
    for family, (sizes, gib_per_vcpu, gib_per_gpu) in _GPU_FAMILIES.items()
    for size, gpus in sizes.items()
    for facts in [
        InstanceFacts(
            name=f"ml.{family}.{size}",
            vcpus=_GPU_VCPUS[size],
            memory_gib=_GPU_VCPUS[size] * gib_per_vcpu,
            gpus=gpus,
            gpu_memory_gib=gpus * gib_per_gpu,
            local_nvme=True,
        )
    ]
}
"""x86-64 with NVIDIA GPUs."""
