"""One environment of the real app, deployed to a local cloud by the real CDK CLI."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import yaml

from decision_provenance.digest import hash_file
from decision_provenance.gguf import read_facts
from local_cloud.demo.cdk import CdkCli
from local_cloud.marks import marked_processes
from local_cloud.running_cloud import RunningCloud
from tests.support.fake_hub import FakeHub
from tests.support.hosting import Hosting
from tests.support.tiny_gguf import write_tiny_gguf

ROOT = Path(__file__).parents[2]
CDK = ROOT / "node_modules/.bin/cdk"

# Without a change set a deploy takes a few seconds less; the demo, which is tested too, makes them.
UNASKED = ("--require-approval", "never", "--progress", "events", "--method", "direct")

Settings = dict[str, Any]

REPOSITORY = "maker/tiny"
REVISION = "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"


@dataclass
class CliRun:
    """What one call of the CLI came to; `text` is all it printed."""

    succeeded: bool
    text: str


@dataclass(frozen=True)
class Verification:
    """A model of this digest was found to be as pinned: by reading it, or from the record of having read it."""

    digest: str
    from_record: bool


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
        return str(self._pinned_file["sha256"])

    @property
    def model_key(self) -> str:
        """Where the packaged model lies in the bucket."""
        return f"models/{self.settings['model']['name']}/{self.digest}/{self._pinned_file['name']}"

    @property
    def _pinned_file(self) -> dict[str, Any]:
        source = self.settings["model"]["source"]
        if "local" in source:
            return {"name": self.model_file.name, **source["local"]}
        (file,) = source["hugging_face"]["files"]
        return dict(file)

    def take_from(self, hub: FakeHub, *, seed: int, **model: Any) -> str:
        """Put a tiny model of this seed on the hub, let the environment pin it there, and return its path there."""
        file = self.folder / f"{self.name}-{seed}.gguf"
        write_tiny_gguf(file, seed=seed, **model)
        path = f"/{REPOSITORY}/resolve/{REVISION}/{file.name}"
        hub.files[path] = file.read_bytes()
        self.settings["model"] = {"name": f"tiny-{self.name}", "source": {"hugging_face": hub_source(hub, file)}}
        return path

    def deploy(self, *options: str) -> CliRun:
        """Write the environment file and deploy both stacks."""
        return self._cdk("deploy", f"{self.name}/*", *UNASKED, *options)

    def synthesize(self) -> CliRun:
        """Only synthesize, into the folder that `deploy_synthesized` takes."""
        return self._cdk("synth", f"{self.name}/*", "--quiet")

    def deploy_synthesized(self) -> CliRun:
        """Deploy what `synthesize` left, without running the app again."""
        return self._run(["deploy", f"{self.name}/*", *UNASKED, "--app", str(self.assembly)])

    def package(self) -> dict[str, Any]:
        """`decisions package` for what `synthesize` left; returns what it prints."""
        command = [str(Path(sys.executable).parent / "decisions"), "package", self.name, "--json"]
        run = subprocess.run(
            [*command, "--assembly", str(self.assembly)],
            env=CdkCli(self.cloud).environment(),
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert run.returncode == 0, run.stderr
        packaged: dict[str, Any] = json.loads(run.stdout)
        return packaged

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

    def stack(self, stack: str = "Endpoint") -> dict[str, Any]:
        """DescribeStacks of one of its two."""
        (described,) = self.hosting.cloudformation.describe_stacks(StackName=f"{self.name}-{stack}")["Stacks"]
        return dict(described)

    def outputs(self) -> dict[str, str]:
        """What the endpoint's stack gives out."""
        return {output["OutputKey"]: output["OutputValue"] for output in self.stack()["Outputs"]}

    def config(self) -> str:
        """The name of the configuration that the endpoint runs."""
        return self.hosting.sagemaker.describe_endpoint(EndpointName=self.endpoint)["EndpointConfigName"]

    def running_image(self) -> str:
        """The image of the model that the endpoint runs."""
        sagemaker = self.hosting.sagemaker
        (variant,) = sagemaker.describe_endpoint_config(EndpointConfigName=self.config())["ProductionVariants"]
        return sagemaker.describe_model(ModelName=variant["ModelName"])["PrimaryContainer"]["Image"]

    def verifications(self) -> list[Verification]:
        """Which models the verifying function let through so far, the first first."""
        calls: dict[str, list[str]] = {}
        for event in self.hosting.events(self._resource("Endpoint", "VerifiedGgufFunctionFunctionLogs")):
            calls.setdefault(event["logStreamName"], []).append(event["message"])
        return [
            Verification(json.loads(line)["Data"]["Digest"], any("was verified before" in each for each in lines))
            for lines in calls.values()
            for line in lines
            if '"Digest"' in line
        ]

    def _resource(self, stack: str, logical_id: str) -> str:
        """The name of the stack's resource whose logical id begins so."""
        resources = self.hosting.cloudformation.describe_stack_resources(StackName=f"{self.name}-{stack}")
        (name,) = (
            resource["PhysicalResourceId"]
            for resource in resources["StackResources"]
            if resource["LogicalResourceId"].startswith(logical_id)
        )
        return name

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


class MakeEnvironment(Protocol):
    """Makes environments with tiny models of their own. What a test leaves deployed goes with the cloud."""

    def __call__(self, name: str, *, like: str = "local") -> Deployment:
        """One like `environments/<like>.yaml`."""


def tiny_environment(name: str, folder: Path, cloud: RunningCloud, *, seed: int, like: str = "local") -> Deployment:
    """An environment like one of the app's, `environments/<like>.yaml`, with a tiny model and names of its own."""
    folder.mkdir()
    file = folder / f"{name}.gguf"
    write_tiny_gguf(file, seed=seed)
    settings: Settings = yaml.safe_load((ROOT / f"environments/{like}.yaml").read_text())
    settings["endpoint"].pop("name", None)
    # Threads of several containers that wait for each other would take the processors from the tests.
    settings["endpoint"]["compute"]["threads"] = 1
    settings["model"] = {"name": f"tiny-{name}", "source": {"local": local_source(file)}}
    return Deployment(name, folder, cloud, settings)


def local_source(file: Path) -> Settings:
    """`model.source.local` of a file."""
    return {"path": str(file), "sha256": hash_file(file).sha256, "bytes": file.stat().st_size, "facts": _facts(file)}


def hub_source(hub: FakeHub, file: Path) -> Settings:
    """`model.source.hugging_face` of a file that the hub has."""
    return {
        "repository": REPOSITORY,
        "revision": REVISION,
        "endpoint": hub.url,
        "files": [{"name": file.name, "sha256": hash_file(file).sha256, "bytes": file.stat().st_size}],
        "facts": _facts(file),
    }


def _facts(file: Path) -> Settings:
    with file.open("rb") as stream:
        facts = read_facts(stream, file_bytes=file.stat().st_size).to_json()
    return {fact: value for fact, value in facts.items() if value is not None}


def flip_last_byte(file: Path) -> str:
    """Change one byte of a file and return the digest that it has now."""
    file.chmod(0o644)
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    replacement = file.with_suffix(".flipped")
    replacement.write_bytes(content)
    shutil.move(replacement, file)
    return hash_file(file).sha256
