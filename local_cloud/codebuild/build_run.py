"""Run one build: the phases of its buildspec, in order, in a clean directory.

Source: AWS CodeBuild user guide, "Build phase transitions": a failed BUILD still runs POST_BUILD and uploads
artifacts; a failure of any other phase ends the build.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import threading
import time
from collections.abc import Iterator

from local_cloud import paths
from local_cloud.codebuild import artifacts, source
from local_cloud.codebuild.artifacts import ArtifactError
from local_cloud.codebuild.build_log import BuildLog
from local_cloud.codebuild.build_record import BuildRecord
from local_cloud.codebuild.buildspec import PHASES, Buildspec, BuildspecError, Phase, parse
from local_cloud.codebuild.environment import build_environment
from local_cloud.codebuild.shell import BuildShell
from local_cloud.codebuild.source import SourceError

_logger = logging.getLogger(__name__)


class PhaseFailedError(Exception):
    """A phase ended the build, with this `status` of both and this `code`, as `COMMAND_EXECUTION_ERROR`."""

    def __init__(self, status: str, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class BuildRun:
    """One build on its way; `run` returns when it has ended, `stop` may be called from another thread."""

    def __init__(self, record: BuildRecord) -> None:
        self._record = record
        self._build = record.snapshot()
        self._stopped = threading.Event()
        self._deadline = time.monotonic() + 60 * self._build["timeoutInMinutes"]
        # Not below builds/: a build id holds a colon, which no search path may.
        self._work = paths.temporary() / f"build-{record.build_id.rpartition(':')[2]}"
        self._source, self._home, self._scratch = (self._work / part for part in ("src", "home", "scratch"))
        for folder in (self._source, self._home / "packages", self._scratch):
            folder.mkdir(parents=True)
        log_folder = paths.builds() / record.build_id
        log_folder.mkdir()
        logs = self._build["logs"]
        self._log = BuildLog(
            log_folder / "build.log", (logs["groupName"], logs["streamName"]) if "groupName" in logs else None
        )

    def stop(self) -> None:
        """End the build soon, as STOPPED."""
        self._stopped.set()

    def run(self) -> None:
        """Run the build to its end, whatever happens."""
        try:
            status = "SUCCEEDED" if self._run_all() else "FAILED"
        except PhaseFailedError as failure:
            status = failure.status
        except Exception as error:  # a fault of the local cloud's own: the build must end all the same
            _logger.exception("build %s", self._record.build_id)
            self._record.end_phase("FAULT", "INTERNAL_ERROR", f"{type(error).__name__}: {error}")
            status = "FAULT"
        try:
            self._log.close()
        finally:  # whoever started a build that never ends would wait for it for an hour
            shutil.rmtree(self._work, ignore_errors=True)
            self._record.finish(status)

    def _run_all(self) -> bool:
        for phase in ("QUEUED", "PROVISIONING"):
            with self._phase(phase):
                pass
        with self._phase("DOWNLOAD_SOURCE"):
            wanted = self._build["source"]
            source.fetch(wanted, self._build.get("sourceVersion"), self._source, self._scratch)
            buildspec = parse(source.buildspec_text(wanted, self._source))
            environment = build_environment(self._build, buildspec, source=self._source, home=self._home)
        shell = BuildShell(
            buildspec.shell,
            directory=self._source,
            environment=environment,
            scratch=self._scratch,
            output=self._log.file,
            while_waiting=self._look_up,
        )
        try:
            succeeded = self._run_phases(buildspec, shell)
            self._export_variables(buildspec, shell)
        finally:
            shell.close()
        with self._phase("UPLOAD_ARTIFACTS"):
            self._upload_artifacts(buildspec)
        with self._phase("FINALIZING"):
            pass
        return succeeded

    def _run_phases(self, buildspec: Buildspec, shell: BuildShell) -> bool:
        succeeded = True
        for name in PHASES:
            phase = buildspec.phases.get(name, Phase())
            try:
                with self._phase(name.upper()):
                    self._run_commands(phase, shell)
            except PhaseFailedError as failure:
                if failure.status != "FAILED":
                    raise
                if phase.continue_on_failure:
                    continue
                if name != "build" or phase.continue_on_failure is False:
                    raise
                succeeded = False
                shell.run("export CODEBUILD_BUILD_SUCCEEDING=0")
        return succeeded

    def _run_commands(self, phase: Phase, shell: BuildShell) -> None:
        """Run the commands up to the first that fails, and then those of `finally` in the same way."""
        failures = []
        for commands in (phase.commands, phase.finally_commands):
            for command in commands:
                self._log.say(f"Running command {command}")
                exit_code = shell.run(command)
                if exit_code:
                    self._log.say(f"Command did not exit successfully {command} exit status {exit_code}")
                    failures.append(f"Error while executing command: {command}. Reason: exit status {exit_code}")
                    break
        if failures:
            raise PhaseFailedError("FAILED", "COMMAND_EXECUTION_ERROR", failures[0])

    def _export_variables(self, buildspec: Buildspec, shell: BuildShell) -> None:
        names = buildspec.exported_variables
        if not names:
            return
        output = self._scratch / "exported"
        output.touch()
        shell.run("\n".join(f'printf "%s\\0" "${{{name}-}}" >>{output}' for name in names))
        values = output.read_text(errors="replace").split("\0")
        self._record.set(
            exportedEnvironmentVariables=[
                {"name": name, "value": value} for name, value in zip(names, values, strict=False)
            ]
        )

    def _upload_artifacts(self, buildspec: Buildspec) -> None:
        target = self._build["artifacts"]
        if target["type"] != "NO_ARTIFACTS":
            uploaded = artifacts.upload(
                target,
                buildspec.artifacts,
                source=self._source,
                scratch=self._scratch,
                build_id=self._record.build_id,
            )
            self._record.set(artifacts={**target, **uploaded})

    @contextlib.contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        """Enter and leave a phase; what goes wrong inside ends it with CodeBuild's words for it."""
        self._record.begin_phase(name)
        self._log.say(f"Entering phase {name}")
        try:
            self._look_up()
            yield
        except (PhaseFailedError, BuildspecError, SourceError, ArtifactError) as error:
            failure = _as_failure(error)
            self._end_phase(name, failure.status, failure.code, str(failure))
            raise failure from (None if failure is error else error)
        self._end_phase(name, "SUCCEEDED")

    def _end_phase(self, name: str, status: str, code: str = "", message: str = "") -> None:
        self._log.say(f"Phase complete: {name} State: {status}")
        self._log.say(f"Phase context status code: {code} Message: {message}")
        self._record.end_phase(status, code, message)

    def _look_up(self) -> None:
        """Between two looks at a command: show its output, and see whether it may go on."""
        self._log.send()
        if self._stopped.is_set():
            raise PhaseFailedError("STOPPED", "BUILD_STOPPED", "Build stopped by StopBuild")
        if time.monotonic() > self._deadline:
            minutes = self._build["timeoutInMinutes"]
            raise PhaseFailedError("TIMED_OUT", "BUILD_TIMED_OUT", f"Build has timed out after {minutes} minutes")


def _as_failure(error: PhaseFailedError | BuildspecError | SourceError | ArtifactError) -> PhaseFailedError:
    if isinstance(error, PhaseFailedError):
        return error
    code = "YAML_FILE_ERROR" if isinstance(error, BuildspecError) else "CLIENT_ERROR"
    return PhaseFailedError("FAILED", code, str(error))
