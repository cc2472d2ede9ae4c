"""The instances of one variant of one endpoint, and who of them gets the next request."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from local_cloud.sagemaker.instance import INVOCATION_SECONDS, Instance, StartError
from local_cloud.sagemaker.place import Place
from local_cloud.sagemaker.variants import Variant


class Fleet:
    """As many instances as wanted, each replaced when it dies.

    Parameters
    ----------
    endpoint:
        Name of the endpoint.
    variant:
        What the instances host.
    count:
        How many instances.
    on_change:
        Called, from some thread, whenever an instance comes into service or goes out of it.
    """

    def __init__(self, endpoint: str, variant: Variant, count: int, on_change: Callable[[], None]) -> None:
        self.variant = variant
        self._endpoint = endpoint
        self._on_change = on_change
        self._count = count
        self._places: list[Place] = []
        self._idle = threading.Condition()
        self._closed = False

    def start(self) -> None:
        """Bring all instances into service; if one fails, stop them all and raise its `StartError`."""
        self.scale(self._count)

    def scale(self, count: int) -> None:
        """Grow or shrink to `count` instances; a growth that fails changes nothing and raises `StartError`.

        An instance that goes finishes its requests in flight.
        """
        added = [self._new_place() for _ in range(count - len(self._places))]
        try:
            for place in added:
                place.wait_until_filled()
        except StartError:
            self._close(added, drain=False)
            raise
        with self._idle:
            surplus = self._places[count:]
        self._close(surplus, drain=True)

    def stop(self, *, drain: bool) -> None:
        """Stop all instances, for good. `drain`: let requests in flight finish first."""
        with self._idle:
            self._closed = True
        self._close(self._places, drain=drain)

    @property
    def size(self) -> int:
        """How many instances there should be."""
        return len(self._places)

    @property
    def healthy(self) -> int:
        """How many instances serve."""
        return sum(place.serving is not None for place in self._places)

    @property
    def failure(self) -> str | None:
        """Why an instance does not serve, if one does not."""
        return next((place.failure for place in self._places if place.failure is not None), None)

    def take(self) -> Instance | None:
        """The serving instance with the fewest requests in flight, if one serves; `give_back` it."""
        with self._idle:
            serving = [place.serving for place in self._places if place.serving is not None]
            instance = min(serving, key=lambda candidate: candidate.outstanding, default=None)
            if instance is not None:
                instance.outstanding += 1
            return instance

    def give_back(self, instance: Instance) -> None:
        """A request to this instance is over."""
        with self._idle:
            instance.outstanding -= 1
            self._idle.notify_all()

    def _new_place(self) -> Place:
        place = Place(self._endpoint, self.variant, self._on_change)
        with self._idle:
            if self._closed:
                raise StartError("The endpoint was stopped before its instances were in service.")
            self._places.append(place)
        place.open()
        return place

    def _close(self, places: Sequence[Place], *, drain: bool) -> None:
        closing = list(places)
        with self._idle:
            self._places = [place for place in self._places if place not in closing]
            if drain:
                self._idle.wait_for(lambda: _idle(closing), timeout=INVOCATION_SECONDS)
        if closing:
            with ThreadPoolExecutor(len(closing)) as each:
                list(each.map(Place.close, closing))


def _idle(places: Sequence[Place]) -> bool:
    return all(place.serving is None or place.serving.outstanding == 0 for place in places)
