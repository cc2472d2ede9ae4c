"""What an endpoint is asked for, whatever its container serves, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from aws_cdk import Duration
from aws_cdk import aws_kms as kms

from .compute import Compute
from .data_capture import DataCapture
from .endpoint_image import Image, target_complaints
from .endpoint_logs import EndpointLogs
from .model_package import PackagedModel
from .network import Network
from .ranges import count_complaints, seconds_complaints
from .rollout import Rollout
from .scaling import Scaling
from .shadow import Shadow

_SHORTEST_TIMEOUT = 60
_LONGEST_TIMEOUT = 3600
_LARGEST_VOLUME_GIB = 512
_GIB = 2**30


class Container(Protocol):
    """What differs between an endpoint of the adapter and one of the stock container."""

    def complaints(self, model: PackagedModel, image: Image, compute: Compute) -> list[str]:
        """What this container cannot do with them."""

    def environment(self, model: PackagedModel, compute: Compute) -> dict[str, str]:
        """What it is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosting:
    """The arguments that `DecisionEndpoint` and `ChatEndpoint` share."""

    model: PackagedModel
    image: Image
    compute: Compute
    logs: EndpointLogs
    instance_count: int | None
    startup_timeout: Duration | None
    download_timeout: Duration | None
    scaling: Scaling | None
    rollout: Rollout | None
    network: Network | None
    network_isolation: bool
    volume_gib: int | None
    volume_key: kms.IKey | None
    data_capture: DataCapture | None
    shadow: Shadow | None

    @property
    def first_count(self) -> int:
        """The instances that the production variant starts with."""
        if self.instance_count is not None:
            return self.instance_count
        return self.scaling.min if self.scaling else 1

    @property
    def startup_seconds(self) -> int:
        """Until the first good ping."""
        return int((self.startup_timeout or Duration.minutes(10)).to_seconds())

    @property
    def download_seconds(self) -> int:
        """For the model."""
        return int((self.download_timeout or Duration.minutes(20)).to_seconds())

    @property
    def production(self) -> tuple[PackagedModel, Image, Compute]:
        """What the production variant is made of."""
        return self.model, self.image, self.compute

    @property
    def shadowing(self) -> tuple[PackagedModel, Image, Compute] | None:
        """What the shadow variant is made of."""
        if self.shadow is None:
            return None
        return self.shadow.model or self.model, self.shadow.image or self.image, self.shadow.compute or self.compute

    def complaints(self, container: Container) -> list[str]:
        """Everything that cannot work, each said once."""
        found = [
            *container.complaints(*self.production),
            *target_complaints(self.image, self.compute),
            *count_complaints("instance_count", self.first_count, least=1),
            *self._timeout_complaints(),
            *self._volume_complaints(),
            *self._change_complaints(),
            *self._shadow_complaints(container),
        ]
        return list(dict.fromkeys(found))

    def _timeout_complaints(self) -> Iterator[str]:
        timeouts = {"startup_timeout": self.startup_timeout, "download_timeout": self.download_timeout}
        for what, timeout in timeouts.items():
            if timeout:
                yield from seconds_complaints(what, timeout, least=_SHORTEST_TIMEOUT, most=_LONGEST_TIMEOUT)

    def _volume_complaints(self) -> Iterator[str]:
        computes = [self.compute, *([self.shadow.compute] if self.shadow and self.shadow.compute else [])]
        on_nvme = [member.name for compute in computes for member in compute.members if member.local_nvme]
        if self.volume_gib is not None:
            yield from count_complaints("volume_gib", self.volume_gib, least=1, most=_LARGEST_VOLUME_GIB)
            # An archive and what is unpacked from it lie side by side.
            needed = -(-self.model.bytes * (2 if self.model.archived else 1) // _GIB)
            if 1 <= self.volume_gib < needed:
                yield f"volume_gib is {self.volume_gib} and the model takes {needed} GiB there: give more than that"
            if on_nvme:
                yield f"volume_gib is given and {on_nvme[0]} has local NVMe storage, which it uses: leave it out"
        if self.volume_key is not None and on_nvme:
            encrypted = "encrypts it with a key of its own hardware"
            yield f"volume_key is given and {on_nvme[0]} has local NVMe storage, which {encrypted}: leave it out"

    def _change_complaints(self) -> Iterator[str]:
        if self.scaling:
            yield from self.scaling.complaints(instance_count=self.first_count, compute=self.compute)
        if self.rollout:
            fewest = self.scaling.min if self.scaling else self.first_count
            yield from self.rollout.complaints(fewest_instances=fewest, shadowed=self.shadow is not None)

    def _shadow_complaints(self, container: Container) -> Iterator[str]:
        if self.shadowing is None:
            return
        model, image, compute = self.shadowing
        for what, types in (("compute", self.compute.members), ("shadow.compute", compute.members)):
            if len(types) > 1:
                allowed = "give one type, or two fleets on unlike instances would be compared"
                yield f"{what} is a pool of {len(types)} types and there is a shadow: {allowed}"
        yield from container.complaints(model, image, compute)
        yield from target_complaints(image, compute)
