"""Start and stop the local cloud of a home directory. Nothing here imports ministack."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from local_cloud import clean_python
from local_cloud.emulator import SOCKET_VARIABLE
from local_cloud.marks import MARK_VARIABLE, carries, marked_processes, new_mark
from local_cloud.paths import HOME_VARIABLE
from local_cloud.running_cloud import RunningCloud, read_record, remove_record, write_record

DEFAULT_HOME = Path(".local-cloud")

_CHECKOUT = Path(__file__).resolve().parent.parent
_HEALTHY_WITHIN_SECONDS = 60.0
_STOPPED_WITHIN_SECONDS = 35.0
_KILLED_WITHIN_SECONDS = 5.0
_POLL_SECONDS = 0.05

# Children of this process stay zombies until it waits for them.
_launched: dict[int, subprocess.Popen[bytes]] = {}


class LocalCloudError(Exception):
    """The local cloud cannot do what was asked; the text says what to do."""


def start(home: Path, *, port: int = 0, environment: Mapping[str, str] | None = None) -> RunningCloud:
    """Start the local cloud of a home directory, or find it, and wait until it answers.

    Parameters
    ----------
    home:
        Where all its files go; made if it is not there.
    port:
        On loopback. Default: a free one.
    environment:
        Variables for the emulator, which starts with none of this process's but PATH and LOCAL_CLOUD_*. A running
        cloud keeps those it has.

    Raises
    ------
    LocalCloudError
        If the port is taken, or it does not come up within a minute.

    Examples
    --------
    >>> cloud = start(Path(".local-cloud"))  # doctest: +SKIP
    >>> cloud.endpoint_url  # doctest: +SKIP
    'http://127.0.0.1:40123'
    """
    home = home.absolute()
    home.mkdir(parents=True, exist_ok=True)
    with _alone(home):
        running = RunningCloud.find(home)
        if running is not None:
            if port not in (0, running.port):
                raise LocalCloudError(
                    f"a local cloud already runs for {home}, on port {running.port}: use that one,"
                    f" or stop it with `make down` before asking for port {port}"
                )
        else:
            _stop_recorded(home)
            running = _launch(home, port, environment or {})
        _wait_until_healthy(running)
        return running


def stop(home: Path) -> bool:
    """Stop the local cloud of a home directory with everything it started. Returns whether there was anything to stop.

    Its containers get half a minute for requests in flight. Logs stay; models and temporary files go.
    """
    home = home.absolute()
    if not home.is_dir():
        return False
    with _alone(home):
        return _stop_recorded(home)


@contextlib.contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One start or stop at a time for a home directory; the lock goes with the process that holds it."""
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _launch(home: Path, port: int, environment: Mapping[str, str]) -> RunningCloud:
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    mark = new_mark()
    # The socket is bound here and inherited, so that nobody can take the port in between.
    with _listen(port) as listening, (home / "emulator.log").open("wb") as log:
        port = listening.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "local_cloud.emulator"],
            cwd=_CHECKOUT,
            env={
                **{name: value for name, value in os.environ.items() if name.startswith("LOCAL_CLOUD_")},
                **environment,
                "PATH": environment.get("PATH") or os.environ.get("PATH", os.defpath),
                "HOME": str(temporary),
                "TMPDIR": str(temporary),
                "LANG": "C.UTF-8",
                "PYTHONPATH": clean_python.FOLDER,
                "PYTHONUNBUFFERED": "1",
                "GATEWAY_PORT": str(port),
                HOME_VARIABLE: str(home),
                MARK_VARIABLE: mark,
                SOCKET_VARIABLE: str(listening.fileno()),
            },
            pass_fds=[listening.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        # Before the first wait: whoever interrupts this one can still stop the emulator with `down`.
        cloud = RunningCloud(home=home, pid=process.pid, port=port, mark=mark)
        _launched[process.pid] = process
        write_record(cloud)
    return cloud


def _listen(port: int) -> socket.socket:
    # Below, SDKs would leave the port of http out of URLs, and so lose their way here.
    if port and not 1024 <= port <= 65535:
        raise LocalCloudError(f"port {port} cannot be used: give one from 1024 to 65535, or none to take a free one")
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listening.close()
        if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
            problem, remedy = "is taken by another process", "stop it, give another port, or none to take a free one"
        else:
            problem, remedy = f"cannot be used ({error})", "give one from 1024 to 65535, or none to take a free one"
        raise LocalCloudError(f"port {port} of 127.0.0.1 {problem}: {remedy}") from error
    listening.listen(128)
    return listening


def _wait_until_healthy(cloud: RunningCloud) -> None:
    deadline = time.monotonic() + _HEALTHY_WITHIN_SECONDS
    while not cloud.healthy():
        _reap(cloud.pid)
        if not carries(cloud.pid, cloud.mark):
            problem = "ended while starting"
        elif time.monotonic() > deadline:
            problem = f"did not answer within {_HEALTHY_WITHIN_SECONDS:.0f} s"
        else:
            time.sleep(_POLL_SECONDS)
            continue
        last_lines = " | ".join(cloud.log.read_text(errors="replace").splitlines()[-5:])
        _stop_recorded(cloud.home)
        raise LocalCloudError(f"the local cloud {problem}; the whole log is {cloud.log}, its end: {last_lines}")


def _stop_recorded(home: Path) -> bool:
    """End the recorded emulator and all that carries its mark; also what a dead one left behind."""
    cloud = read_record(home)
    if cloud is None:
        return False
    left = marked_processes(cloud.mark)
    was_running = bool(left)
    if cloud.pid in left:
        _signal({cloud.pid}, signal.SIGTERM)
        _wait_until(lambda: not carries(cloud.pid, cloud.mark), _STOPPED_WITHIN_SECONDS, reap=cloud.pid)
        _signal({cloud.pid} & marked_processes(cloud.mark), signal.SIGKILL)
    for last_word in (signal.SIGTERM, signal.SIGKILL):
        _signal(marked_processes(cloud.mark), last_word)
        _wait_until(lambda: not marked_processes(cloud.mark), _KILLED_WITHIN_SECONDS, reap=cloud.pid)
    left = marked_processes(cloud.mark)
    if left:
        raise LocalCloudError(f"processes {sorted(left)} of the local cloud in {home} do not end: end them by hand")
    for scratch in ("tmp", "models"):
        shutil.rmtree(home / scratch, ignore_errors=True)
    remove_record(home)
    return was_running


def _wait_until(done: Callable[[], bool], seconds: float, *, reap: int) -> None:
    deadline = time.monotonic() + seconds
    while not done() and time.monotonic() < deadline:
        _reap(reap)
        time.sleep(_POLL_SECONDS)
    _reap(reap)


def _reap(pid: int) -> None:
    process = _launched.get(pid)
    if process is not None and process.poll() is not None:
        del _launched[pid]


def _signal(processes: frozenset[int] | set[int], signal_number: signal.Signals) -> None:
    for pid in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal_number)
