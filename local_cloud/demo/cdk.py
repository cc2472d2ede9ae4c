"""Run the real CDK CLI against a running local cloud, with everything it says in a log and the news of it live."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from botocore.config import Config
from botocore.exceptions import ClientError

from decision_client.local_cloud import LocalCloud
from local_cloud.demo.checkout import CACHE, CDK, NODE_TOOLS, ROOT, from_root
from local_cloud.demo.stack_events import read_event
from local_cloud.running_cloud import RunningCloud

_LAST_LINES = 12
_BOOTSTRAP_STACK = "CDKToolkit"
_NEWS_BESIDE_EVENTS = ("Synthesis time", "deploying...", "start: Building", "start: Publishing", "success: Published")


class CdkFailed(Exception):
    """The CLI ended with an error; the text is the reasons, a line each, and where the log is."""


class CdkCli:
    """The CLI of this checkout, for one local cloud.

    Its caches stay in the checkout (`.cache/`), its output and its scratch under the local cloud's home. It sees none
    of the user's own AWS settings, so that it cannot reach a real account.
    """

    def __init__(self, cloud: RunningCloud) -> None:
        self._cloud = cloud
        self.assembly = cloud.home / "cdk.out"
        self.outputs_file = cloud.home / "outputs.json"
        self.deploy_log = cloud.home / "deploy.log"
        self.destroy_log = cloud.home / "destroy.log"

    def is_bootstrapped(self) -> bool:
        """Whether the bootstrap stack of the CDK is there and whole."""
        reached = LocalCloud(self._cloud.port, self._cloud.account, self._cloud.region)
        cloudformation = reached.session().client(
            "cloudformation",
            endpoint_url=reached.endpoint_url,
            config=Config(retries={"total_max_attempts": 1}, proxies={}),
        )
        try:
            stacks = cloudformation.describe_stacks(StackName=_BOOTSTRAP_STACK)["Stacks"]
        except ClientError:
            return False
        return stacks[0]["StackStatus"] in ("CREATE_COMPLETE", "UPDATE_COMPLETE")

    def bootstrap(self, on_news: Callable[[str], None]) -> None:
        """Create the bucket, the roles and the repository that every deploy with the CDK needs.

        Raises
        ------
        CdkFailed
            With the reasons.
        """
        environment = f"aws://{self._cloud.account}/{self._cloud.region}"
        # Outside the app: bootstrapping needs none, and would spend seconds on its synthesis.
        self._run(["bootstrap", environment], self._cloud.home, self.deploy_log, on_news)

    def deploy(self, stacks: str, on_news: Callable[[str], None]) -> Mapping[str, Mapping[str, str]]:
        """Synthesize the app and deploy its stacks; returns the outputs by stack.

        Raises
        ------
        CdkFailed
            With the reasons of the stack events, or the end of what the app said.
        """
        self.outputs_file.unlink(missing_ok=True)
        options = ["--require-approval", "never", "--progress", "events", "--outputs-file", str(self.outputs_file)]
        # The other environments' stacks would be synthesized for nothing.
        options += ["--context", f"environment={stacks.partition('/')[0]}"]
        self._run(
            ["deploy", stacks, *options, "--output", str(self.assembly)], ROOT, self.deploy_log, on_news, append=True
        )
        outputs: dict[str, dict[str, str]] = json.loads(self.outputs_file.read_text())
        return outputs

    def destroy(self, stacks: str, on_news: Callable[[str], None], *, limit_seconds: float) -> None:
        """Destroy what was deployed, from the templates as they were deployed.

        Raises
        ------
        CdkFailed
            With the reasons, or if it takes longer than `limit_seconds`.
        """
        command = ["destroy", stacks, "--force", "--app", str(self.assembly)]
        self._run(command, ROOT, self.destroy_log, on_news, limit_seconds=limit_seconds)

    def environment(self) -> dict[str, str]:
        """The variables the CLI runs with."""
        own = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CDK_"))}
        temporary = self._cloud.home / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        (CACHE / "home").mkdir(parents=True, exist_ok=True)
        return {
            **own,
            **self._cloud.environment(),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "CDK_DISABLE_CLI_TELEMETRY": "true",
            "CDK_HOME": str(CACHE / "cdk"),
            # The CLI's own check of templates takes longer than the deploy; the gate runs it.
            "CDK_VALIDATION": "false",
            "CI": "true",
            # aws-cdk-lib keeps fingerprints of assets in the home directory and has no setting for it.
            "HOME": str(CACHE / "home"),
            "JSII_RUNTIME_PACKAGE_CACHE_ROOT": str(CACHE / "jsii"),
            # Node 20 works; the SDK's and jsii's banners about its age would hide what matters.
            "AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED": "true",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "20",
            "NO_COLOR": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "PATH": os.pathsep.join(
                [str(Path(sys.executable).parent), str(NODE_TOOLS), str(_node_folder()), own.get("PATH", os.defpath)]
            ),
            "TMPDIR": str(temporary),
        }

    def _run(
        self,
        arguments: Sequence[str],
        folder: Path,
        log_file: Path,
        on_news: Callable[[str], None],
        *,
        append: bool = False,
        limit_seconds: float | None = None,
    ) -> None:
        command = [str(CDK), *arguments, "--no-notices", "--no-color"]
        lines: list[str] = []
        with log_file.open("a" if append else "w") as log:
            log.write(f"$ cdk {' '.join(command[1:])}\n")
            process = subprocess.Popen(
                command,
                cwd=folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
            )
            with _at_most(process, limit_seconds) as was_late:
                for line in process.stdout or ():
                    log.write(line)
                    log.flush()
                    lines.append(line.rstrip())
                    _tell(lines[-1], on_news)
                status = process.wait()
        if status:
            if was_late():
                reasons = [f"cdk {arguments[0]} was stopped after {limit_seconds:g} s."]
            elif status < 0:
                reasons = [f"cdk {arguments[0]} was ended by {signal.Signals(-status).name}."]
            else:
                reasons = failure_reasons(lines)
            raise CdkFailed("\n".join([*reasons, f"The whole output is in {from_root(log_file)}."]))


# Of what the CLI prints around an app's own sentence: its program's place, and the rule that made a note an error.
_NO_REASON = re.compile(r"lib/program\.js:\d|^\s*Rule Annotation::|: Subprocess exited with error|^\$ cdk ")


def failure_reasons(lines: Sequence[str]) -> list[str]:
    """Of all that the CLI said, why it failed: the reasons of the stack events, else the end of the output."""
    events = [event for event in map(read_event, lines) if event is not None]
    reasons = [
        f"{event.resource} ({event.type}): {event.reason}" for event in events if event.is_failure and event.reason
    ]
    # One failure is told of the resource and then again of the stack around it.
    said = [line for line in lines if line.strip() and read_event(line) is None and not _NO_REASON.search(line)]
    return list(dict.fromkeys(reasons)) or said[-_LAST_LINES:]


@cache
def _node_folder() -> Path:
    """Where Node.js itself lies: a version manager's stand-in on the path may need the user's own home directory."""
    asked = subprocess.run(
        ["node", "--print", "process.execPath"],  # noqa: S607
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    return Path(asked.stdout.strip()).parent


def _tell(line: str, on_news: Callable[[str], None]) -> None:
    event = read_event(line)
    if event is not None:
        on_news(event.in_short())
    elif any(news in line for news in _NEWS_BESIDE_EVENTS):
        on_news(line.strip())


@contextmanager
def _at_most(process: subprocess.Popen[str], seconds: float | None) -> Iterator[Callable[[], bool]]:
    """Stop the process when its time is up, or when this one is interrupted. Yields whether its time was up."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        process.terminate()

    timer = threading.Timer(seconds, stop) if seconds is not None else None
    try:
        if timer:
            timer.start()
        yield late.is_set
    except BaseException:
        process.terminate()
        process.wait()
        raise
    finally:
        if timer:
            timer.cancel()
            timer.join()
        if process.stdout:
            process.stdout.close()
