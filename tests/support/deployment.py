"""One environment of the real app, deployed to a local cloud by the real CDK CLI."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from decision_provenance.digest import hash_file
from decision_provenance.gguf import read_facts
from local_cloud.demo.cdk import CdkCli
from local_cloud.marks import marked_processes
from local_cloud.running_cloud import RunningCloud
from tests.support.hosting import Hosting
from tests.support.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parents[2]
CDK = ROOT / "node_modules/.bin/cdk"

# Without a change set a deploy takes a few seconds less; the demo, which is tested too, makes them.
UNASKED = ("--require-approval", "never", "--progress", "events", "--method", "direct")

Settings = dict[str, Any]


@dataclass
class CliRun:
    """What one call of the CLI came to; `text` is all it printed."""

    succeeded: bool
    text: str


@dataclass
class Deployment:
    """An environment of its own: its file, its model and what the CLI made of it."""

    name: str
    folder: Path
    cloud: RunningCloud
    settings: Settings = field(default_factory=dict)

    @cached_property
    def hosting(self) -> Hosting:
        """Clients of the cloud it is deployed to."""
        return Hosting(self.cloud)

    @property
    def endpoint(self) -> str:
        """The endpoint's name."""
        answers = self.settings["endpoint"].get("answers", "decisions")
        return str(self.settings["endpoint"].get("name", f"{answers}-{self.name}"))

    @property
    def model_file(self) -> Path:
        """The file that the environment's source names."""
        return Path(self.settings["model"]["source"]["local"]["path"])

    @property
    def digest(self) -> str:
        """The digest that the environment pins."""
        return str(self.settings["model"]["source"]["local"]["sha256"])

    @property
    def model_key(self) -> str:
        """Where the packaged model lies in the bucket."""
        return f"models/{self.settings['model']['name']}/{self.digest}/{self.model_file.name}"

    def deploy(self, *options: str) -> CliRun:
        """Write the environment file and deploy both stacks."""
        return self._cdk("deploy", f"{self.name}/*", *UNASKED, *options)

    def synthesize(self) -> CliRun:
        """Only synthesize, into the folder that `deploy_synthesized` takes."""
        return self._cdk("synth", f"{self.name}/*", "--quiet")

    def deploy_synthesized(self) -> CliRun:
        """Deploy what `synthesize` left, without running the app again."""
        return self._run(["deploy", f"{self.name}/*", *UNASKED, "--app", str(self.assembly)])

    def destroy(self, stack: str = "*") -> CliRun:
        """Destroy what the last synthesis describes, or one stack of it."""
        return self._run(["destroy", f"{self.name}/{stack}", "--force", "--app", str(self.assembly)])

    @property
    def assembly(self) -> Path:
        """The CLI's output folder."""
        return self.folder / "cdk.out"

    def bucket(self) -> str:
        """The bucket of models."""
        names = [bucket["Name"] for bucket in self.hosting.s3.list_buckets()["Buckets"]]
        return next(name for name in names if name.startswith(f"{self.name}-artifacts-") and "log" not in name)

    def has_endpoint(self) -> bool:
        """Whether the endpoint exists, in whatever state."""
        endpoints = self.hosting.sagemaker.list_endpoints()["Endpoints"]
        return self.endpoint in [endpoint["EndpointName"] for endpoint in endpoints]

    def kill_container(self) -> None:
        """End the endpoint's one container as a crash would."""
        marked = (Path(f"/proc/{pid}/environ") for pid in marked_processes(self.cloud.mark))
        folder = f"_MODEL_DIR={self.cloud.home}/models/{self.endpoint}".encode()
        (container,) = (int(environ.parent.name) for environ in marked if folder in environ.read_bytes())
        os.kill(container, signal.SIGKILL)

    def container_log(self) -> str:
        """What all its containers said."""
        return "".join(file.read_text() for file in sorted((self.cloud.home / "endpoints" / self.endpoint).glob("*")))

    def _cdk(self, *arguments: str) -> CliRun:
        environments = self.folder / "environments"
        environments.mkdir(exist_ok=True)
        (environments / f"{self.name}.yaml").write_text(yaml.safe_dump(self.settings, sort_keys=False))
        return self._run([*arguments, "--context", f"environments={environments}", "--output", str(self.assembly)])

    def _run(self, arguments: list[str]) -> CliRun:
        run = subprocess.run(
            [str(CDK), *arguments, "--no-notices", "--no-color"],
            cwd=ROOT,
            env=CdkCli(self.cloud).environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=300,
        )
        return CliRun(run.returncode == 0, run.stdout)


def tiny_environment(name: str, folder: Path, cloud: RunningCloud, *, seed: int, like: str = "local") -> Deployment:
    """An environment like one of the app's, `environments/<like>.yaml`, with a tiny model and names of its own."""
    folder.mkdir()
    file = folder / f"{name}.gguf"
    write_tiny_gguf(file, seed=seed)
    settings: Settings = yaml.safe_load((ROOT / f"environments/{like}.yaml").read_text())
    with file.open("rb") as stream:
        facts = read_facts(stream, file_bytes=file.stat().st_size)
    settings["endpoint"].pop("name", None)
    # Threads of several containers that wait for each other would take the processors from the tests.
    settings["endpoint"]["compute"]["threads"] = 1
    settings["model"] = {
        "name": f"tiny-{name}",
        "source": {
            "local": {
                "path": str(file),
                "sha256": hash_file(file).sha256,
                "bytes": file.stat().st_size,
                "facts": {fact: value for fact, value in facts.to_json().items() if value is not None},
            }
        },
    }
    return Deployment(name, folder, cloud, settings)


def flip_last_byte(file: Path) -> str:
    """Change one byte of a file and return the digest that it has now."""
    file.chmod(0o644)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    replacement = file.with_suffix(".flipped")
    replacement.write_bytes(content)
    shutil.move(replacement, file)
    return hash_file(file).sha256
