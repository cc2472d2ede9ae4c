"""What an endpoint runs on: one instance type, or a pool of types with GPUs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar, Protocol

from aws_cdk import aws_sagemaker as sagemaker

from .errors import InvalidArguments, did_you_mean
from .instance_catalog import CPU_INSTANCES, GPU_INSTANCES, GRAVITON_INSTANCES, Architecture, InstanceFacts

DRIVER_AMI = "al2023-ami-sagemaker-inference-gpu-4-1"
"""The host with NVIDIA driver 580, which CUDA 13 needs."""

ALL_LAYERS = 10_000
"""More layers than any model has, and the most that the adapter takes."""

_GPU_AMI = re.compile(r"al[0-9]+-ami-sagemaker-inference-gpu-[0-9]+(-[0-9]+)?")
_MOST_TYPES = 5
_KINDS: dict[str, tuple[str, Mapping[str, InstanceFacts]]] = {
    "CpuInstance": ("CPU", CPU_INSTANCES),
    "GravitonInstance": ("Graviton", GRAVITON_INSTANCES),
    "GpuPool": ("GPU", GPU_INSTANCES),
}


class Compute(Protocol):
    """What `DecisionEndpoint` asks of a `CpuInstance`, a `GravitonInstance` or a `GpuPool`."""

    @property
    def kind(self) -> str:
        """``CPU``, ``Graviton`` or ``GPU``."""

    @property
    def members(self) -> tuple[InstanceFacts, ...]:
        """The types it may end up on, the first choice first."""

    @property
    def alternatives(self) -> Mapping[str, InstanceFacts]:
        """All types of this kind."""

    @property
    def architecture(self) -> Architecture:
        """Of every member, and so of the image."""

    @property
    def threads(self) -> int:
        """Threads that evaluate, which every member has."""

    @property
    def gpu_layers(self) -> int | None:
        """Layers to offload; None without a GPU."""

    @property
    def instance_type(self) -> str | None:
        """Of the production variant; None for a pool."""

    @property
    def instance_pools(self) -> list[sagemaker.CfnEndpointConfig.InstancePoolProperty] | None:
        """Of the production variant; None for a single type."""

    @property
    def inference_ami_version(self) -> str | None:
        """Of the production variant; None where the host needs no driver."""


class _SingleInstance:
    """One instance type without a GPU."""

    gpu_layers: int | None = None
    instance_pools: list[sagemaker.CfnEndpointConfig.InstancePoolProperty] | None = None
    inference_ami_version: str | None = None
    _what: ClassVar[str]

    def __init__(self, instance_type: str, *, threads: int | None = None) -> None:
        what = self._what
        self.kind, self.alternatives = _KINDS[what]
        facts = self.alternatives.get(instance_type)
        if facts is None:
            raise InvalidArguments(what, [*_type_complaints(what, instance_type), *_few_threads(threads)])
        if threads is not None and not 1 <= threads <= facts.vcpus:
            limit = f"{instance_type} has {facts.vcpus} vCPUs: give 1 to {facts.vcpus}"
            raise InvalidArguments(
                what, [f"threads is {threads} and {limit}, or leave it out for {facts.physical_cores}"]
            )
        self.facts = facts
        self.members = (facts,)
        self.instance_type = instance_type
        self.architecture = facts.architecture
        self.threads = facts.physical_cores if threads is None else threads


class CpuInstance(_SingleInstance):
    """One x86-64 instance type without a GPU.

    Parameters
    ----------
    instance_type:
        A SageMaker hosting type of the c5, c6i, c7i, m5, m6i, m7i, r6i or r7i family: ``"ml.c6i.xlarge"``.
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

    _what = "CpuInstance"


class GravitonInstance(_SingleInstance):
    """One Graviton instance type; the image must be built for arm64.

    Parameters
    ----------
    instance_type:
        A SageMaker hosting type of the c6g, c7g, c8g, m6g, m8g, r6g or r8g family: ``"ml.c8g.4xlarge"``.
    threads:
        Threads that evaluate, 1 to the instance's vCPUs. Default: all of them, each is a core.

    Raises
    ------
    InvalidArguments
        If the type is not in the catalog (the message names the nearest one) or the threads are out of range.

    Examples
    --------
    >>> GravitonInstance("ml.c8g.4xlarge").threads
    16
    >>> GravitonInstance("ml.c6i.4xlarge")
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: GravitonInstance: 'ml.c6i.4xlarge' is a CPU instance: give it ...
    """

    _what = "GravitonInstance"


class GpuPool:
    """One to five instance types with NVIDIA GPUs: SageMaker takes the first one that it has capacity for.

    It tries them in this order at creation and again at each scale-out, so one endpoint can run on mixed types; threads
    and the fit check go by the smallest.

    Parameters
    ----------
    instance_types:
        Types of the g4dn, g5, g6 or g6e family, each once, the first choice first:
        ``["ml.g6e.xlarge", "ml.g5.xlarge"]``.
    gpu_layers:
        Layers to offload, 1 to 10000; the rest is evaluated on the CPU. Default: all.
    inference_ami_version:
        The host's image, which brings the driver. Default: ``al2023-ami-sagemaker-inference-gpu-4-1``, with driver 580.
        Left to SageMaker, g4dn and g5 come with a driver that no CUDA 13 image starts on.

    Raises
    ------
    InvalidArguments
        If there are none or over five types, one twice, one that is not in the catalog, or the rest is out of range;
        all complaints at once.

    Examples
    --------
    >>> pool = GpuPool(["ml.g6e.xlarge", "ml.g6.2xlarge", "ml.g5.2xlarge"])
    >>> pool.threads
    2
    >>> GpuPool(["ml.g5.xlarge", "ml.g5.xlarge", "ml.c6i.xlarge"])
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: GpuPool: ml.g5.xlarge is there 2 times: ...; 'ml.c6i.xlarge' is ...

    Source: Amazon SageMaker API reference, "InstancePool" and "ProductionVariant".
    """

    instance_type: str | None = None
    architecture: Architecture = "x86_64"

    def __init__(
        self,
        instance_types: Sequence[str],
        *,
        gpu_layers: int | None = None,
        inference_ami_version: str = DRIVER_AMI,
    ) -> None:
        self.kind, self.alternatives = _KINDS["GpuPool"]
        # A lone text is a sequence too, of letters.
        types = [instance_types] if isinstance(instance_types, str) else list(instance_types)
        complaints = [
            *_pool_complaints(types),
            *[sentence for name in dict.fromkeys(types) for sentence in _type_complaints("GpuPool", name)],
        ]
        if gpu_layers is not None and not 1 <= gpu_layers <= ALL_LAYERS:
            complaints.append(f"gpu_layers is {gpu_layers}: give 1 to {ALL_LAYERS}, or leave it out for all")
        if not _GPU_AMI.fullmatch(inference_ami_version or ""):
            complaints.append(
                f"inference_ami_version is {inference_ami_version!r}, which brings no GPU driver: "
                f"leave it out for {DRIVER_AMI}"
            )
        if complaints:
            raise InvalidArguments("GpuPool", complaints)
        self.members = tuple(GPU_INSTANCES[name] for name in types)
        self.threads = min(member.physical_cores for member in self.members)
        self.gpu_layers: int | None = ALL_LAYERS if gpu_layers is None else gpu_layers
        self.inference_ami_version: str | None = inference_ami_version

    @property
    def instance_pools(self) -> list[sagemaker.CfnEndpointConfig.InstancePoolProperty] | None:
        """The types and their priorities, 1 for the first choice; one alone is a pool too, with the same metrics."""
        return [
            sagemaker.CfnEndpointConfig.InstancePoolProperty(instance_type=member.name, priority=priority)
            for priority, member in enumerate(self.members, start=1)
        ]


def _pool_complaints(types: list[str]) -> list[str]:
    complaints = []
    if not 1 <= len(types) <= _MOST_TYPES:
        complaints.append(f"instance_types has {len(types)} types: give 1 to {_MOST_TYPES}")
    complaints += [
        f"{name} is there {types.count(name)} times: name each type once, the order is the priority"
        for name in dict.fromkeys(types)
        if types.count(name) > 1
    ]
    return complaints


def _type_complaints(what: str, instance_type: str) -> list[str]:
    kind, catalog = _KINDS[what]
    if instance_type in catalog:
        return []
    for other, (other_kind, other_catalog) in _KINDS.items():
        if instance_type in other_catalog:
            return [f"{instance_type!r} is a {other_kind} instance: give it to {other}"]
    return [f"{instance_type!r} is no {kind} instance of the catalog: {did_you_mean(instance_type, catalog)}"]


def _few_threads(threads: int | None) -> list[str]:
    return [f"threads is {threads}: give at least 1"] if threads is not None and threads < 1 else []
