"""Builds the adapter's image on AWS's llama.cpp container and pushes it, once for a tag; runs in CodeBuild.

The environment says what: `BASE_IMAGE`, by digest; `REPOSITORY`, the URI of the account's own; `TAG`, made of all that
decides the image; `SOURCE_SHA256`, of the source that the tag was made of; `PLATFORM`, as Docker calls it. The working
directory is that source, and the Docker context.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

_REGISTRY = r"[0-9]{12}\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?"
_REPOSITORY = re.compile(rf"(?P<registry>{_REGISTRY})/(?P<name>[a-z0-9]+([._/-][a-z0-9]+)*)")
_BASE = re.compile(rf"(?P<registry>{_REGISTRY})/[a-z0-9._/-]+@sha256:[0-9a-f]{{64}}")
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_PLATFORMS = ("linux/amd64", "linux/arm64")

Docker = Callable[[list[str], bytes | None], None]


class BuildRefused(Exception):
    """There is no image; the text says why and what to do."""


@dataclass(frozen=True)
class Wanted:
    """The image to make: what it is built on and made of, where it goes, and for which processor."""

    base: str
    repository: str
    tag: str
    source_sha256: str
    platform: str

    @property
    def reference(self) -> str:
        """What Docker calls it."""
        return f"{self.repository}:{self.tag}"


def read_wanted(environment: Mapping[str, str]) -> Wanted:
    """Read the build's environment variables; BuildRefused names all that is wrong with them."""
    names = ("BASE_IMAGE", "REPOSITORY", "TAG", "SOURCE_SHA256", "PLATFORM")
    values = {name: environment.get(name, "") for name in names}
    allowed = {
        "BASE_IMAGE": (_BASE, "give a private ECR repository and a digest, <registry>/<name>@sha256:<64 hex digits>"),
        "REPOSITORY": (_REPOSITORY, "give the URI of a private ECR repository, without tag"),
        "TAG": (_TAG, "give 1 to 128 letters, digits and . _ -"),
        "SOURCE_SHA256": (_SHA256, "give 64 lower-case hex digits, the digest of this build's source"),
        "PLATFORM": (re.compile("|".join(_PLATFORMS)), f"give {' or '.join(_PLATFORMS)}"),
    }
    complaints = [
        f"{name} is {values[name]!r:.300}: {what}"
        for name, (pattern, what) in allowed.items()
        if not pattern.fullmatch(values[name])
    ]
    if complaints:
        raise BuildRefused("; ".join(complaints))
    return Wanted(*(values[name] for name in names))


def source_sha256(folder: Path) -> str:
    """The digest of a source, as the construct that made the tag counts it: no byte code, no hidden files."""
    inner = ((file, file.relative_to(folder).parts) for file in folder.rglob("*") if file.is_file())
    kept = sorted((parts, file) for file, parts in inner if not any(p.startswith((".", "__pycache__")) for p in parts))
    listing = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  ./{'/'.join(parts)}\n" for parts, file in kept]
    return hashlib.sha256("".join(listing).encode()).hexdigest()


def build(wanted: Wanted, source: str, client: Callable[[str], Any], docker: Docker, say: Callable[[str], None]) -> str:
    """Make the image unless its tag is there, and return its digest.

    Parameters
    ----------
    wanted:
        What to make.
    source:
        The digest of the Docker context that is here.
    client:
        Gives the ECR client of a region.
    docker:
        Runs Docker with arguments and, for a password, standard input; raises BuildRefused when it fails.
    say:
        Takes one line of progress.
    """
    own = _match(_REPOSITORY, wanted.repository)
    ecr = client(own["region"])
    digest = _find(ecr, own["name"], wanted.tag)
    if digest:
        say(f"{wanted.reference} is there already as {digest}: nothing to do")
        return digest
    if source != wanted.source_sha256:
        # The project has the source of its own last deploy, and the tag is of the template's: it cannot be moved, so a
        # wrong image would keep it.
        raise BuildRefused(
            f"the project's source has the digest {source}, and {wanted.tag} is made of {wanted.source_sha256}: first "
            "deploy the stack that holds the AdapterImage, from the same checkout or installation"
        )
    base = _match(_BASE, wanted.base)
    for registry in dict.fromkeys([(base["registry"], base["region"]), (own["registry"], own["region"])]):
        _log_in(client(registry[1]), registry[0], docker)
    say(f"building {wanted.reference} on {wanted.base}")
    arguments = ["--platform", wanted.platform, "--build-arg", f"BASE_IMAGE={wanted.base}", "--tag", wanted.reference]
    docker(["build", *arguments, "."], None)
    try:
        docker(["push", wanted.reference], None)
    except BuildRefused:
        # Tags cannot be moved: another build of the same inputs may have been first, and its image will do.
        digest = _find(ecr, own["name"], wanted.tag)
        if not digest:
            raise
        say(f"{wanted.reference} was pushed by another build meanwhile")
        return digest
    digest = _find(ecr, own["name"], wanted.tag)
    if not digest:
        raise BuildRefused(f"{wanted.reference} was pushed and ECR does not know it: deploy again")
    return digest


def _find(ecr: Any, repository: str, tag: str) -> str:
    """The digest of the image with this tag; empty while there is none."""
    try:
        answer = ecr.describe_images(repositoryName=repository, imageIds=[{"imageTag": tag}])
    except ecr.exceptions.ImageNotFoundException:
        return ""
    return str(answer["imageDetails"][0]["imageDigest"])


def _log_in(ecr: Any, registry: str, docker: Docker) -> None:
    token = ecr.get_authorization_token()["authorizationData"][0]["authorizationToken"]
    user, _, password = base64.b64decode(token).decode().partition(":")
    # By standard input: an argument is seen by every process of the machine.
    docker(["login", "--username", user, "--password-stdin", registry], password.encode())


def _match(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    found = pattern.fullmatch(text)
    if found is None:  # `read_wanted` let it pass
        raise BuildRefused(f"{text!r:.300} is no such reference")
    return found.groupdict()


def run_docker(arguments: list[str], password: bytes | None) -> None:
    """Run the Docker of the path; its output goes where ours does."""
    # An attestation would make the image an index of two, and SageMaker wants one image. By variable, because a Docker
    # without buildx refuses the option and makes no attestation.
    environment = {**os.environ, "BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}
    try:
        done = subprocess.run(["docker", *arguments], input=password, env=environment, check=False)  # noqa: S607
    except FileNotFoundError as error:
        raise BuildRefused("there is no docker: the build environment must be privileged and have it") from error
    if done.returncode:
        raise BuildRefused(f"docker {arguments[0]} failed with status {done.returncode}: its own lines above say why")


def main() -> int:
    """Build, and say in one last line what came of it."""
    try:
        digest = build(read_wanted(os.environ), source_sha256(Path.cwd()), _client, run_docker, _say)
    except (BuildRefused, ClientError, BotoCoreError) as error:
        _say(f"image refused: {error}")
        return 1
    _say(f"image {digest}")
    return 0


def _client(region: str) -> Any:
    return boto3.client("ecr", region_name=region)


def _say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
