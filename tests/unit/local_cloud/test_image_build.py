"""A privileged build of the local cloud has a stand-in for docker, and builds the adapter's image with it."""

from __future__ import annotations

import io
import uuid
import zipfile
from dataclasses import dataclass
from typing import Any

import pytest

from decision_endpoints.assets import adapter_image_folder, folder_sha256
from tests.support.builds import Builds, commands

PRIVILEGED = {
    "type": "LINUX_CONTAINER",
    "image": "aws/x",
    "computeType": "BUILD_GENERAL1_SMALL",
    "privilegedMode": True,
}
BASE = f"763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@sha256:{'1f19c220' * 8}"


@dataclass(frozen=True)
class Source:
    """What the AdapterImage project builds from, as the CDK packs it, and the digest that a template says it has."""

    packed: bytes
    sha256: str


@pytest.fixture(scope="module")
def source() -> Source:
    content = io.BytesIO()
    with adapter_image_folder() as folder:
        with zipfile.ZipFile(content, "w") as packed:
            for file in sorted(folder.rglob("*")):
                packed.write(file, file.relative_to(folder))
        return Source(content.getvalue(), folder_sha256(folder))


@pytest.fixture(scope="module")
def repository(builds: Builds) -> str:
    name = f"adapter-{uuid.uuid4().hex[:8]}"
    answer = builds.client("ecr").create_repository(repositoryName=name, imageTagMutability="IMMUTABLE")
    return str(answer["repository"]["repositoryUri"])


@pytest.fixture(scope="module")
def first_build(builds: Builds, source: Source, repository: str) -> Any:
    return build_image(builds, source, repository)


def build_image(builds: Builds, source: Source, repository: str) -> Any:
    variables = {
        "BASE_IMAGE": BASE,
        "REPOSITORY": repository,
        "TAG": "cpu-1",
        "SOURCE_SHA256": source.sha256,
        "PLATFORM": "linux/amd64",
    }
    given = [{"name": name, "value": value} for name, value in variables.items()]
    environment = PRIVILEGED | {"environmentVariables": given}
    return builds.run(
        "", source=builds.s3_source(source.packed) | {"buildspec": "buildspec.yml"}, environment=environment
    )


def test_the_adapters_image_is_built_and_pushed_and_its_digest_reported(
    builds: Builds, first_build: Any, repository: str
) -> None:
    name = repository.partition("/")[2]
    (image,) = builds.client("ecr").describe_images(repositoryName=name, imageIds=[{"imageTag": "cpu-1"}])[
        "imageDetails"
    ]

    assert first_build["buildStatus"] == "SUCCEEDED", builds.log(first_build)
    assert f"image {image['imageDigest']}" in builds.log(first_build)


@pytest.mark.usefixtures("first_build")
def test_an_image_is_built_once_for_a_tag(builds: Builds, source: Source, repository: str) -> None:
    again = build_image(builds, source, repository)

    assert again["buildStatus"] == "SUCCEEDED"
    assert any(line.endswith(": nothing to do") for line in builds.log(again))


def test_docker_is_a_stand_in_and_says_so(builds: Builds) -> None:
    build = builds.run(commands("docker run hello-world"), environment=PRIVILEGED)

    assert build["buildStatus"] == "FAILED"
    assert [line for line in builds.log(build) if line.startswith("stand-in for docker: argument command: invalid")]


def test_a_build_without_privileges_has_no_docker(builds: Builds) -> None:
    build = builds.run(commands("docker push x || echo refused"))

    assert not [line for line in builds.log(build) if line.startswith("stand-in for docker")]
