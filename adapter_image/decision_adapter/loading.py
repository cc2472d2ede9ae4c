"""From a folder to a scorer: find the one model, hash it, compare it with what was asked for, and only then load it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from decision_adapter.errors import ModelRefused
from decision_adapter.request_log import Log
from decision_adapter.scoring import Scorer
from decision_adapter.settings import Settings
from decision_provenance.digest import Digest, HashCancelled, hash_file
from decision_provenance.manifest import PackagedFile, package_digest
from decision_provenance.model_folder import ModelFiles, ModelFolderRefused, find_model

PROGRESS_SECONDS = 2.0

LoadScorer = Callable[[ModelFiles, Settings, Digest], Scorer]


class WrongModel(ModelRefused):
    """The folder does not hold the model that was asked for; `expected` and `found` are digests, where both are known.

    Unlike other refusals it keeps the process up: restarting it would read the same bytes again, and until somebody
    replaces them /ping and the log tell what is wrong.
    """

    def __init__(self, reason: str, *, expected: str | None = None, found: str | None = None) -> None:
        super().__init__(reason)
        self.expected = expected
        self.found = found


def load_verified(settings: Settings, load_scorer: LoadScorer, log: Log, *, cancelled: Callable[[], bool]) -> Scorer:
    """Load the model of the settings' folder, if it is the one they name.

    CloudFormation checks a model once, when it is deployed; every instance that starts later downloads the files again,
    so this is the check that covers what is really served.

    Parameters
    ----------
    settings:
        Where the model is, and its digest.
    load_scorer:
        Loads the files; raises `ModelRefused`.
    log:
        Gets `loading` lines, while hashing one every two seconds.
    cancelled:
        Asked while hashing; True ends it.

    Raises
    ------
    WrongModel
        If there is not exactly one model in the folder, it cannot be read, or it has another digest.
    ModelRefused
        From `load_scorer`, or if `cancelled` said so.
    """
    try:
        files = find_model(settings.model_dir)
        digest = _hash(files, log, cancelled)
    except HashCancelled as stopped:
        raise ModelRefused(str(stopped)) from stopped
    except ModelFolderRefused as refusal:
        raise WrongModel(str(refusal)) from refusal
    except OSError as failure:
        raise WrongModel(f"the model in {settings.model_dir} cannot be read: {failure}") from failure
    expected = settings.model_sha256
    if expected is not None and digest.sha256 != expected:
        raise WrongModel(
            f"the model {files.first.name} has SHA-256 {digest.sha256}, expected is {expected}: "
            "package the model again, or correct DECISION_MODEL_SHA256",
            expected=expected,
            found=digest.sha256,
        )
    log.write("loading", step="load", file=files.first.name, bytes=digest.bytes, sha256=digest.sha256)
    return load_scorer(files, settings, digest)


def _hash(files: ModelFiles, log: Log, cancelled: Callable[[], bool]) -> Digest:
    total = sum(shard.stat().st_size for shard in files.shards)
    log.write("loading", step="hash", file=files.first.name, bytes=total)
    tell = _Progress(log, total)
    hashed: list[tuple[Path, Digest]] = []
    for shard in files.shards:
        hashed.append((shard, hash_file(shard, on_progress=tell, cancelled=cancelled)))
        tell.finished_bytes += hashed[-1][1].bytes
    if len(hashed) == 1:
        return hashed[0][1]
    try:
        listed = [PackagedFile(shard.name, digest.sha256, digest.bytes) for shard, digest in hashed]
    except ValueError as refusal:
        raise WrongModel(str(refusal)) from refusal
    return Digest(package_digest(listed), tell.finished_bytes)


class _Progress:
    """A line every few seconds, so that whoever waits for a large model sees that it moves."""

    def __init__(self, log: Log, total: int) -> None:
        self.finished_bytes = 0
        self._log = log
        self._total = total
        self._last = time.monotonic()

    def __call__(self, bytes_of_shard: int) -> None:
        now = time.monotonic()
        if now - self._last >= PROGRESS_SECONDS:
            self._last = now
            self._log.write("loading", step="hash", done_bytes=self.finished_bytes + bytes_of_shard, bytes=self._total)
