"""Child processes of the emulator: none outlives it, and each is stopped with all it started."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from local_cloud.marks import own_mark

# Linux sends a parent-death signal when the *thread* that forked ends, not the process: so one thread, which lives as
# long as the emulator, forks for all (prctl(2), PR_SET_PDEATHSIG).
_forking_thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="spawn")

# Asks for the signal in the child and then becomes the command: `preexec_fn` is unsafe in a process with threads.
# Where there is no prctl (macOS), `python -m local_cloud down` still finds and ends what is left.
_DIE_WITH_PARENT = """
import ctypes, os, sys
parent = int(sys.argv[1])
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 15)
if os.getppid() != parent:
    sys.exit("the local cloud is gone")
try:
    os.execvpe(sys.argv[2], sys.argv[2:], os.environ)
except OSError as error:
    sys.exit(f"cannot run {sys.argv[2]}: {error.strerror}")
"""

_STRAGGLER_SECONDS = 1.0


def spawn(command: Sequence[str], *, env: Mapping[str, str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a command that gets SIGTERM when the emulator ends, as the leader of its own process group.

    Parameters
    ----------
    command:
        Program and arguments; a program that cannot run shows as exit code 1 with the reason on its stderr.
    env:
        Its whole environment.
    options:
        Others of `subprocess.Popen`. Default: nothing on stdin, the emulator's stdout and stderr.
    """
    launcher = [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid()), *command]
    options = {"stdin": subprocess.DEVNULL, **options, "env": {**env, **own_mark()}, "start_new_session": True}

    def fork() -> subprocess.Popen[bytes]:
        return subprocess.Popen(launcher, **options)

    return _forking_thread.submit(fork).result()


def stop_group(process: subprocess.Popen[bytes], grace_seconds: float) -> int:
    """Stop a spawned process and everything in its group: SIGTERM, wait, SIGKILL. Returns its exit code.

    `grace_seconds` is how long the process may take to finish what it is doing after SIGTERM. What it left running in
    its group is stopped too, also when the process itself has already ended.
    """
    _signal_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(grace_seconds)
    deadline = time.monotonic() + min(grace_seconds, _STRAGGLER_SECONDS)
    while process.poll() is not None and _signal_group(process.pid, 0) and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal_group(process.pid, signal.SIGKILL)
    return process.wait()


def _signal_group(group: int, signal_number: int) -> bool:
    """Whether the group is there to be signalled. macOS answers EPERM for one that holds only zombies."""
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):
        return False
    return True
