"""Push to ECR of the local cloud, which the build's AWS variables lead to."""

from __future__ import annotations

import re

from local_cloud.docker_stand_in.dockerfile import DockerRefused
from local_cloud.docker_stand_in.image import MANIFEST_TYPE, Image

_ECR = re.compile(
    r"(?P<registry>(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?)/(?P<name>[^:@]+)"
    r"(:(?P<tag>[^@]+))?(@sha256:[0-9a-f]{64})?"
)


def registry_of(reference: str) -> str:
    """The registry that an image is in; DockerRefused if that is not private ECR."""
    return _parts(reference)["registry"]


def push(image: Image) -> str:
    """Put the image's manifest under its tag, and return the digest that ECR gives it."""
    # Here, because the commands that push nothing then start at once.
    import boto3
    from botocore.exceptions import ClientError

    parts = _parts(image.reference)
    try:
        answer = boto3.client("ecr", region_name=parts["region"]).put_image(
            registryId=parts["account"],
            repositoryName=parts["name"],
            imageTag=parts["tag"] or "latest",
            imageManifest=image.manifest,
            imageManifestMediaType=MANIFEST_TYPE,
        )
    except ClientError as error:
        raise DockerRefused(f"{image.reference} was not pushed: {error}") from error
    return str(answer["image"]["imageId"]["imageDigest"])


def _parts(reference: str) -> dict[str, str]:
    match = _ECR.fullmatch(reference)
    if match is None:
        raise DockerRefused(f"{reference} is not in private ECR, and nothing else is emulated here")
    return match.groupdict()
