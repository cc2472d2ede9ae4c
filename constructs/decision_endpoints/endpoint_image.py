"""What an endpoint asks of an image, and whether it goes with the instances."""

from __future__ import annotations

from typing import Literal, Protocol, runtime_checkable

from constructs import Construct

from .compute import Compute
from .images import BoundImage

Target = Literal["cpu", "cuda", "graviton"]
"""What an image is built for."""

TARGETS: dict[str, Target] = {"CPU": "cpu", "Graviton": "graviton", "GPU": "cuda"}
"""The target of each kind of compute."""


class Image(Protocol):
    """What an endpoint asks of an image."""

    def bind(self, scope: Construct) -> BoundImage:
        """The image as the stack of `scope` sees it."""


@runtime_checkable
class TargetedImage(Protocol):
    """An image that knows what it is built for: ``cpu``, ``cuda`` or ``graviton``."""

    @property
    def target(self) -> str:
        """The target."""


def target_complaints(image: Image, compute: Compute) -> list[str]:
    """The sentence for an image that is known to be built for other instances."""
    if not isinstance(image, TargetedImage):
        return []
    wanted = TARGETS[compute.kind]
    if image.target == wanted:
        return []
    found = f"the image is for {image.target} and {compute.members[0].name} runs {wanted} images"
    return [f"{found}: give an image for {wanted}, or another compute"]


def architecture_complaints(image: BoundImage, compute: Compute) -> list[str]:
    """The sentence for an image of which only the processor is known, and is another one."""
    if image.architecture in (None, compute.architecture):
        return []
    found = f"the image is for {image.architecture} and {compute.members[0].name} is {compute.architecture}"
    return [f"{found}: give an image for {compute.architecture}, or another compute"]
