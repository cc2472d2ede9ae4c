"""A place for one instance, kept filled: an instance that dies is replaced, more and more patiently."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future

from local_cloud.ministack_seams import in_background
from local_cloud.sagemaker.instance import Instance, StartError
from local_cloud.sagemaker.variants import Variant

_FIRST_DELAY_SECONDS = 0.5
_LONGEST_DELAY_SECONDS = 30.0
_STEADY_SECONDS = 60.0
"""After serving this long, the next failure is a new one and not part of a crash loop."""


class Place:
    """Where one instance of an endpoint should be.

    Parameters
    ----------
    endpoint:
        Name of the endpoint.
    variant:
        What its instance hosts.
    on_change:
        Called, from the place's own thread, whenever an instance comes into service or goes out of it.
    """

    def __init__(self, endpoint: str, variant: Variant, on_change: Callable[[], None]) -> None:
        self._endpoint = endpoint
        self._variant = variant
        self._on_change = on_change
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._instance: Instance | None = None
        self._filled: Future[None] = Future()
        self._thread: threading.Thread | None = None
        self._starting: Instance | None = None
        self._failure: str | None = None
        self.serving: Instance | None = None

    @property
    def failure(self) -> str | None:
        """Why no instance serves here: what the one that starts has said, else what became of the last one."""
        starting = self._starting
        return (starting.refusal if starting is not None else None) or self._failure

    def open(self) -> None:
        """Start to fill the place."""
        self._thread = in_background(self._keep_filled, name=f"place-{self._endpoint}")

    def wait_until_filled(self) -> None:
        """Block until the first instance serves; raises `StartError` if it never will: then nothing replaces it."""
        self._filled.result()

    def close(self) -> None:
        """Stop the instance and fill the place no more. Requests in flight are the caller's business."""
        self._stopping.set()
        with self._lock:
            instance = self._instance
        if instance is not None:
            instance.stop()
        if self._thread is not None:
            self._thread.join()

    def _keep_filled(self) -> None:
        reason = "The endpoint was stopped before its instances were in service."
        try:
            self._replace_while_open()
        except Exception as error:
            reason = f"The local cloud itself failed, its emulator.log says where: {error!r}"
            raise
        finally:
            if not self._filled.done():
                self._filled.set_exception(StartError(reason))

    def _replace_while_open(self) -> None:
        delay = _FIRST_DELAY_SECONDS
        while (instance := self._new_instance()) is not None:
            since = time.monotonic()
            try:
                self._serve_with(instance)
            except StartError as failure:
                self._failure = str(failure)
                if not self._filled.done():
                    instance.stop()
                    self._filled.set_exception(failure)
                    return
                self._on_change()
            instance.stop()
            if time.monotonic() - since > _STEADY_SECONDS:
                delay = _FIRST_DELAY_SECONDS
            self._stopping.wait(delay)
            delay = min(2 * delay, _LONGEST_DELAY_SECONDS)

    def _serve_with(self, instance: Instance) -> None:
        self._starting = instance
        try:
            instance.start()
        finally:
            self._starting = None
        self.serving, self._failure = instance, None
        if not self._filled.done():
            self._filled.set_result(None)
        self._on_change()
        failure = instance.wait_until_unhealthy()
        self.serving = None
        if not self._stopping.is_set():
            self._failure = failure
            self._on_change()

    def _new_instance(self) -> Instance | None:
        with self._lock:
            if self._stopping.is_set():
                return None
            self._instance = Instance(self._endpoint, self._variant)
            return self._instance
