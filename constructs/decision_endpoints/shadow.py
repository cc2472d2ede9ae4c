"""A second variant that gets a copy of the requests and whose answers nobody sees."""

from __future__ import annotations

from dataclasses import dataclass

from .compute import Compute
from .endpoint_image import Image
from .errors import InvalidArguments
from .model_package import PackagedModel
from .ranges import count_complaints

SHADOW_VARIANT_NAME = "shadow"
"""The name of the shadow variant, a dimension of its metrics."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """What differs in a shadow variant: SageMaker sends it a share of the requests and throws its answers away.

    Compare `endpoint.shadow_metrics` with the endpoint's own, or keep both answers with `DataCapture`. An endpoint has
    at most one.

    Parameters
    ----------
    model, image, compute:
        At least one of them; what is left out is the same as in production.
    instance_count:
        Its instances, at least 1; they are not scaled. Default: 1.
    percentage:
        How many of a hundred requests it gets too, 1 to 100. Default: 100.

    Raises
    ------
    InvalidArguments
        If a number is out of range or nothing differs; when given to an endpoint: if its model does not fit either, or
        one of both variants runs on a pool.

    Examples
    --------
    >>> Shadow(compute=CpuInstance("ml.c7i.xlarge"), percentage=20).instance_count
    1
    >>> Shadow(percentage=0)
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: Shadow: model, image and compute are all as in production: ...

    Source: Amazon SageMaker AI developer guide, "Testing models with shadow variants"; API reference,
    "CreateEndpointConfig".
    """

    model: PackagedModel | None = None
    image: Image | None = None
    compute: Compute | None = None
    instance_count: int = 1
    percentage: int = 100

    def __post_init__(self) -> None:
        complaints = []
        if self.model is None and self.image is None and self.compute is None:
            complaints.append("model, image and compute are all as in production: give the one to try")
        complaints += count_complaints("instance_count", self.instance_count, least=1)
        complaints += count_complaints("percentage", self.percentage, least=1, most=100)
        if complaints:
            raise InvalidArguments("Shadow", complaints)
