"""One instance of a variant: a model folder, a process that stands for the container, and its log."""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from local_cloud import paths, processes
from local_cloud.ministack_seams import in_background
from local_cloud.sagemaker import adapter_command
from local_cloud.sagemaker.instance_log import InstanceLog
from local_cloud.sagemaker.model_files import Download, ModelFilesError
from local_cloud.sagemaker.startup_cap import startup_cap
from local_cloud.sagemaker.variants import Variant

INVOCATION_SECONDS = 60.0
"""How long SageMaker waits for a container's answer."""

_PING_TIMEOUT_SECONDS = 2.0
_STARTUP_PING_INTERVAL_SECONDS = 0.1
_PING_INTERVAL_SECONDS = 1.0
_PINGS_TO_FAIL = 3
_STOP_GRACE_SECONDS = 30.0
_LOG_DRAIN_SECONDS = 5.0


class StartError(Exception):
    """An instance did not come into service; the text is the endpoint's FailureReason."""


@dataclass(frozen=True)
class ContainerAnswer:
    """What a container answered; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Instance:
    """One container's life: `start`, `wait_until_unhealthy`, `stop`, the last from any thread at any time."""

    def __init__(self, endpoint: str, variant: Variant) -> None:
        self.id = f"i-{uuid.uuid4().hex[:17]}"
        self.outstanding = 0  # requests in flight; the fleet counts them
        self._variant = variant
        self._folder = paths.models() / f"{endpoint}-{variant.name}-{self.id}"
        self._log_folder = paths.endpoints() / endpoint
        self._log = InstanceLog(self._log_folder, endpoint, variant.name, self.id)
        self._port = 0
        self._stopping = threading.Event()
        self._stop_once = threading.Lock()
        self._spawning = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._drained = threading.Event()  # the process is gone and its output is read
        self._stopped = False

    def start(self) -> None:
        """Fetch the model, start the container and wait for its first good `/ping`.

        Raises
        ------
        StartError
            If any of that fails, takes too long, or the instance is stopped meanwhile.
        """
        try:
            self._lay_model()
            self._spawn()
        except (ModelFilesError, OSError) as error:
            raise StartError(str(error)) from error
        self._await_first_ping()

    def wait_until_unhealthy(self) -> str:
        """Block until the process ends or `/ping` fails three times in a row; returns what happened."""
        failures = 0
        while not self._drained.wait(_PING_INTERVAL_SECONDS) and not self._stopping.is_set():
            failures = 0 if self._ping() else failures + 1
            if failures >= _PINGS_TO_FAIL:
                return self._log.explain(
                    f"The container for production variant {self._variant.name} failed the ping health check"
                    f" {failures} times in a row."
                )
        return self._log.explain(
            f"The container for production variant {self._variant.name} exited with {self._exit()}."
        )

    @property
    def refusal(self) -> str | None:
        """Why the container, though it runs, will not serve, if it has said so in its log."""
        return self._log.refusal

    def invoke(self, body: bytes, headers: Mapping[str, str]) -> ContainerAnswer:
        """Send one request to the container's `/invocations`.

        Raises
        ------
        TimeoutError
            If the container takes over 60 seconds.
        OSError, http.client.HTTPException
            If it ends, or breaks the connection, before it has answered.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=INVOCATION_SECONDS)
        try:
            connection.request("POST", "/invocations", body, dict(headers))
            response = connection.getresponse()
            lowered = {name.lower(): value for name, value in response.getheaders()}
            return ContainerAnswer(response.status, lowered, response.read())
        finally:
            connection.close()

    def stop(self) -> None:
        """End the process (SIGTERM, SIGKILL after 30 s), wait for the rest of its log and remove its files."""
        self._stopping.set()
        with self._stop_once:  # a second SIGTERM would cut short what the first lets finish
            with self._spawning:
                process = self._process
            if process is not None and not self._stopped:
                processes.stop_group(process, _STOP_GRACE_SECONDS)
                self._drained.wait(_LOG_DRAIN_SECONDS)
            self._stopped = True
            # Each time: a download that the first stop cut short may have written on while its folder was removed.
            shutil.rmtree(self._folder, ignore_errors=True)

    def _lay_model(self) -> None:
        self._folder.mkdir(parents=True)
        if self._variant.source is not None:
            Download(
                self._variant.source,
                self._folder,
                seconds=self._variant.download_seconds,
                cancelled=self._stopping,
            ).run()

    def _spawn(self) -> None:
        self._port = _free_port()
        command = adapter_command.command_for(
            self._variant.image, self._variant.environment, model_folder=self._folder, port=self._port
        )
        with self._spawning:
            if self._stopping.is_set():
                raise ModelFilesError("The instance was stopped before its container started.")
            # The working directory holds logs only: nothing that a model brings may be imported from it.
            self._process = processes.spawn(
                command.arguments,
                env=command.environment,
                cwd=self._log_folder,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        process = self._process
        in_background(lambda: self._drain_output(process), name=f"log-{self.id}")

    def _drain_output(self, process: subprocess.Popen[bytes]) -> None:
        if process.stdout is not None:
            with process.stdout:
                for raw in process.stdout:
                    self._log.append(raw.decode("utf-8", "replace").rstrip("\r\n"))
        process.wait()
        self._drained.set()

    def _await_first_ping(self) -> None:
        seconds = min(self._variant.startup_seconds, startup_cap())
        deadline = time.monotonic() + seconds
        which = f"The primary container for production variant {self._variant.name}"
        while not self._ping():
            if self._stopping.is_set():
                raise StartError(f"{which} was stopped before it passed the ping health check.")
            if self._drained.wait(_STARTUP_PING_INTERVAL_SECONDS):
                what = f"{which} exited with {self._exit()} before it passed the ping health check."
                raise StartError(self._log.explain(what))
            if time.monotonic() > deadline:
                what = (
                    f"{which} did not pass the ping health check within {seconds:g} seconds. Please check CloudWatch"
                    " logs for this endpoint."
                )
                raise StartError(self._log.explain(what))

    def _ping(self) -> bool:
        if self._drained.is_set():
            return False
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PING_TIMEOUT_SECONDS)
        try:
            connection.request("GET", "/ping")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def _exit(self) -> str:
        code = self._process.poll() if self._process is not None else None
        return f"signal {-code}" if code is not None and code < 0 else f"code {code}"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
