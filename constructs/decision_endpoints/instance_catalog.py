"""The CPU instances of SageMaker real-time hosting, as data.

Names: `ProductionVariantInstanceType` of the SageMaker API model in botocore 1.43.106 (a test compares them). Sizes:
the pages of the EC2 instance types, read 2026-11-30. Every family here is x86-64 with two hardware threads a core.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class InstanceFacts:
    """What one instance type has. `memory_gib` is in GiB, before the host takes its part."""

    name: str
    vcpus: int
    memory_gib: int

    @property
    def physical_cores(self) -> int:
        """Cores that compute: hyper-threads share the vector units, a second one on a core only slows llama.cpp."""
        return max(1, self.vcpus // 2)


# vCPUs of each size, and GiB of memory for each vCPU.
_SIZES = {"large": 2, "xlarge": 4, "2xlarge": 8, "4xlarge": 16}
_FIFTH_COMPUTE = _SIZES | {"9xlarge": 36, "18xlarge": 72}
_FIFTH_GENERAL = _SIZES | {"12xlarge": 48, "24xlarge": 96}
_SIXTH = _SIZES | {"8xlarge": 32, "12xlarge": 48, "16xlarge": 64, "24xlarge": 96, "32xlarge": 128}
_SEVENTH = _SIZES | {"8xlarge": 32, "12xlarge": 48, "16xlarge": 64, "24xlarge": 96, "48xlarge": 192}
_FAMILIES = {
    "c5": (_FIFTH_COMPUTE, 2),
    "c6i": (_SIXTH, 2),
    "c7i": (_SEVENTH, 2),
    "m5": (_FIFTH_GENERAL, 4),
    "m6i": (_SIXTH, 4),
    "m7i": (_SEVENTH, 4),
}

CPU_INSTANCES = {
    facts.name: facts
    for family, (sizes, gib_per_vcpu) in _FAMILIES.items()
    for size, vcpus in sizes.items()
    for facts in [InstanceFacts(name=f"ml.{family}.{size}", vcpus=vcpus, memory_gib=vcpus * gib_per_vcpu)]
}
