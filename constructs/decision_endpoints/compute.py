"""What an endpoint runs on."""

from __future__ import annotations

from .errors import InvalidArguments, did_you_mean
from .instance_catalog import CPU_INSTANCES, InstanceFacts


class CpuInstance:
    """One x86-64 instance type without a GPU.

    Parameters
    ----------
    instance_type:
        A SageMaker hosting type of the c5, c6i, c7i, m5, m6i or m7i family: ``"ml.c6i.xlarge"``.
    threads:
        Threads that evaluate, 1 to the instance's vCPUs. Default: its physical cores, which is half the vCPUs.

    Raises
    ------
    InvalidArguments
        If the type is not in the catalog (the message names the nearest one) or the threads are out of range.

    Examples
    --------
    >>> CpuInstance("ml.c6i.xlarge").threads
    2
    >>> CpuInstance("ml.c6i.8xlarge", threads=32).facts.memory_gib
    64
    """

    def __init__(self, instance_type: str, *, threads: int | None = None) -> None:
        facts = CPU_INSTANCES.get(instance_type)
        if facts is None:
            nearest = did_you_mean(instance_type, CPU_INSTANCES)
            raise InvalidArguments("CpuInstance", [f"{instance_type!r} is no CPU instance of the catalog: {nearest}"])
        if threads is not None and not 1 <= threads <= facts.vcpus:
            limit = f"{instance_type} has {facts.vcpus} vCPUs: give 1 to {facts.vcpus}"
            raise InvalidArguments(
                "CpuInstance", [f"threads is {threads} and {limit}, or leave it out for {facts.physical_cores}"]
            )
        self.facts: InstanceFacts = facts
        self.instance_type = instance_type
        self.threads = facts.physical_cores if threads is None else threads
