"""The three kinds of SageMaker resource that this cloud keeps, and how SageMaker names them in answers and errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.ministack_seams import account_id, region


@dataclass(frozen=True)
class Kind:
    """One kind of resource: `name` in operations (`Create<name>`), `arn_part`, and `words` in error messages."""

    name: str
    arn_part: str
    words: str

    @property
    def name_field(self) -> str:
        """The field that holds the resource's name, as `ModelName`."""
        return f"{self.name}Name"

    @property
    def arn_field(self) -> str:
        """The field that holds the resource's ARN, as `ModelArn`."""
        return f"{self.name}Arn"

    def arn(self, name: str) -> str:
        """The ARN of a resource of this kind in the account and region of the current request."""
        return f"arn:aws:sagemaker:{region()}:{account_id()}:{self.arn_part}/{name}"


MODEL = Kind("Model", "model", "model")
ENDPOINT_CONFIG = Kind("EndpointConfig", "endpoint-config", "endpoint configuration")
ENDPOINT = Kind("Endpoint", "endpoint", "endpoint")
KINDS = (MODEL, ENDPOINT_CONFIG, ENDPOINT)


class Resource(Protocol):
    """What every resource has; the tags may be changed in place."""

    @property
    def name(self) -> str: ...
    @property
    def arn(self) -> str: ...
    @property
    def created(self) -> float: ...
    @property
    def tags(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Definition:
    """A model or an endpoint configuration: what was asked for, immutable, and its tags, which are not."""

    name: str
    arn: str
    request: JsonObject
    created: float
    tags: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_request(cls, kind: Kind, request: Mapping[str, object]) -> Definition:
        """Keep a validated Create request."""
        name = str(request[kind.name_field])
        asked = {key: value for key, value in request.items() if key != "Tags"}
        return cls(name, kind.arn(name), asked, time.time(), tags_of(request))


def tags_of(request: Mapping[str, object]) -> dict[str, str]:
    """The tags of a request, by key."""
    tags = request.get("Tags")
    return {tag["Key"]: tag["Value"] for tag in tags} if isinstance(tags, list) else {}


ResourceT = TypeVar("ResourceT", bound=Resource)


class Shelf(Generic[ResourceT]):
    """The resources of one kind, by account, region and name. Every method acts for the current request."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self._by_place: dict[tuple[str, str, str], ResourceT] = {}
        self._lock = threading.Lock()

    def add(self, resource: ResourceT) -> None:
        """Keep a new resource; SageMaker refuses a name that exists."""
        with self._lock:
            if self._place(resource.name) in self._by_place:
                raise ApiError(
                    "ValidationException", f'Cannot create already existing {self.kind.words} "{resource.arn}".'
                )
            self._by_place[self._place(resource.name)] = resource

    def find(self, name: str) -> ResourceT | None:
        """The resource of this name, if there is one."""
        return self._by_place.get(self._place(name))

    def get(self, name: str) -> ResourceT:
        """The resource of this name, or SageMaker's error."""
        resource = self.find(name)
        if resource is None:
            raise ApiError("ValidationException", f'Could not find {self.kind.words} "{self.kind.arn(name)}".')
        return resource

    def remove(self, name: str) -> None:
        """Forget a resource."""
        with self._lock:
            self._by_place.pop(self._place(name), None)

    def all(self) -> list[ResourceT]:
        """The resources of the current account and region, oldest first."""
        with self._lock:
            return [
                resource
                for (account, where, _), resource in self._by_place.items()
                if (account, where) == (account_id(), region())
            ]

    def clear(self) -> list[ResourceT]:
        """Forget the resources of all accounts and regions, and return them."""
        with self._lock:
            everything = list(self._by_place.values())
            self._by_place.clear()
        return everything

    def _place(self, name: str) -> tuple[str, str, str]:
        return account_id(), region(), name
