"""An endpoint: its status, and the operations that move it from one to the next."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass

from local_cloud.aws_model import ApiError, JsonObject
from local_cloud.ministack_seams import in_background
from local_cloud.sagemaker.baking import Watch
from local_cloud.sagemaker.fleet import Fleet
from local_cloud.sagemaker.instance import Instance, StartError
from local_cloud.sagemaker.instance_log import REASON_LIMIT
from local_cloud.sagemaker.variants import Variant

CREATING = "Creating"
UPDATING = "Updating"
IN_SERVICE = "InService"
OUT_OF_SERVICE = "OutOfService"
DELETING = "Deleting"
FAILED = "Failed"

_BUSY = (CREATING, UPDATING, DELETING)
_RUNNING = (IN_SERVICE, OUT_OF_SERVICE)


@dataclass(frozen=True)
class Release:
    """What an endpoint hosts or is to host: a configuration, read once, with the counts that apply to it."""

    config_name: str
    variant: Variant
    instance_count: int
    weight: float


class Endpoint:
    """One endpoint. Operations return at once and go on in the background; `wait` for their outcome.

    An update is blue/green: the instances of the old release serve until all of the new one are healthy, and finish
    their requests. If the new ones fail, the old ones stay; if an alarm goes off soon after, they serve again.
    """

    def __init__(
        self, name: str, arn: str, release: Release, deployment: JsonObject | None, tags: dict[str, str]
    ) -> None:
        self.name = name
        self.arn = arn
        self.tags = tags
        self.created = self.modified = time.time()
        self.status = CREATING
        self._reason: str | None = None
        self.release = release
        self.pending: Release | None = None
        self.deployment = deployment
        self._live: Fleet | None = None
        self._fleets: set[Fleet] = set()  # what runs: the live one, and while updating another
        self._lock = threading.RLock()
        self._abandoned = threading.Event()
        self._operation: Future[str | None] = Future()

    def create(self) -> None:
        """Start the first instances: Creating, then InService or Failed."""
        fleet = self._fleet(self.release)

        def start() -> str | None:
            try:
                fleet.start()
            except StartError as failure:
                with self._lock:
                    self._fleets.discard(fleet)
                    self._settle(FAILED, str(failure))
                return str(failure)
            with self._lock:
                self._live = fleet
                self._settle_by_health()
            return None

        self._begin(CREATING, start)

    def update(self, release: Release, deployment: JsonObject | None) -> None:
        """Replace the instances by those of another release: Updating, then InService, or back to what ran before."""
        with self._lock:
            self._refuse_unless_running()
            fleet = self._fleet(release)
            self.pending = release
            self._begin(UPDATING, lambda: self._switch_to(fleet, release, deployment))

    def scale(self, instance_count: int, weight: float) -> None:
        """Change how many instances serve: Updating, then InService. A growth that fails keeps what ran before."""
        with self._lock:
            self._refuse_unless_running()
            self._begin(UPDATING, lambda: self._scale_to(instance_count, weight))

    def delete(self, forget: Callable[[], None]) -> None:
        """Finish the requests in flight, stop the instances, then `forget` the endpoint: Deleting, then gone."""
        with self._lock:
            if self.status in _BUSY:
                raise ApiError("ValidationException", f'Cannot update in-progress endpoint "{self.arn}".')
            live, self._live = self._live, None

            def stop() -> None:
                if live is not None:
                    self._stop(live, drain=True)
                forget()

            self._begin(DELETING, stop)

    def abandon(self) -> None:
        """Stop everything at once, whatever is going on; for the end of the emulator."""
        self._abandoned.set()
        with self._lock:
            fleets, self._live = list(self._fleets), None
            self.status = DELETING
        for fleet in fleets:
            self._stop(fleet, drain=False)

    def wait(self) -> str | None:
        """Block until the operation in progress, or the last one, is over; returns why it failed, if it did."""
        return self._operation.result()

    @property
    def failure_reason(self) -> str | None:
        """Why the endpoint is not in service, or why its last update failed; at most 1,024 characters."""
        with self._lock:
            out = self._live if self.status == OUT_OF_SERVICE else None
            reason = (out.failure if out is not None else None) or self._reason
        return reason[:REASON_LIMIT] if reason else None

    @property
    def instances(self) -> tuple[int, int]:
        """How many instances serve, and how many should."""
        with self._lock:
            return (self._live.healthy, self._live.size) if self._live is not None else (0, self.release.instance_count)

    @contextmanager
    def instance(self) -> Iterator[Instance | None]:
        """The instance for one request, if any serves. An update does not stop it before the request is over."""
        with self._lock:  # so that no update retires the fleet between finding it and taking an instance of it
            fleet = self._live
            taken = fleet.take() if fleet is not None else None
        try:
            yield taken
        finally:
            if fleet is not None and taken is not None:
                fleet.give_back(taken)

    def _switch_to(self, fleet: Fleet, release: Release, deployment: JsonObject | None) -> str | None:
        try:
            fleet.start()
        except StartError as failure:
            with self._lock:
                self.pending = None
                self._fleets.discard(fleet)
                self._settle_by_health(str(failure))
            return str(failure)
        with self._lock:
            retired, self._live = self._live, fleet
        alarm = Watch.of(deployment).wait(self._abandoned)
        with self._lock:
            self.pending = None
            if self._live is fleet and alarm is not None:
                self._live, retired = retired, fleet
            elif alarm is None:
                self.release, self.deployment = release, deployment
        if retired is not None:
            self._stop(retired, drain=True)
        with self._lock:
            self._settle_by_health(alarm)
        return alarm

    def _scale_to(self, instance_count: int, weight: float) -> str | None:
        failure = None
        try:
            if self._live is not None:
                self._live.scale(instance_count)
        except StartError as failed:
            failure = str(failed)
        with self._lock:
            if failure is None:
                current = self.release
                self.release = Release(current.config_name, current.variant, instance_count, weight)
            self._settle_by_health(failure)
        return failure

    def _fleet(self, release: Release) -> Fleet:
        fleet = Fleet(self.name, release.variant, release.instance_count, self._health_changed)
        self._fleets.add(fleet)
        return fleet

    def _stop(self, fleet: Fleet, *, drain: bool) -> None:
        fleet.stop(drain=drain)
        with self._lock:
            self._fleets.discard(fleet)

    def _begin(self, status: str, work: Callable[[], str | None]) -> None:
        outcome: Future[str | None] = Future()

        def run() -> None:
            try:
                outcome.set_result(work())
            except BaseException as error:
                outcome.set_exception(error)
                raise

        with self._lock:
            self._operation = outcome
            self._settle(status, None)
        in_background(run, name=f"endpoint-{self.name}")

    def _refuse_unless_running(self) -> None:
        if self.status in _BUSY:
            raise ApiError("ValidationException", f'Cannot update in-progress endpoint "{self.arn}".')
        if self.status not in _RUNNING:
            raise ApiError(
                "ValidationException",
                f'Endpoint "{self.arn}" is {self.status}; only an endpoint that is InService or OutOfService can be'
                " updated. Delete it and create it again.",
            )

    def _health_changed(self) -> None:
        with self._lock:
            if self.status in _RUNNING:
                reason = self._reason if self.status == IN_SERVICE else None
                self._settle_by_health(reason)

    def _settle_by_health(self, reason: str | None = None) -> None:
        live = self._live
        if self.status == DELETING or live is None:
            return
        if live.healthy:
            self._settle(IN_SERVICE, reason)
        else:
            self._settle(OUT_OF_SERVICE, reason)

    def _settle(self, status: str, reason: str | None) -> None:
        with self._lock:
            if (self.status, self._reason) != (status, reason):
                self.modified = time.time()
            self.status, self._reason = status, reason
