"""What a build leaves behind, and whether it is there."""

from __future__ import annotations

from dataclasses import dataclass

from decision_client.aws import AwsError, Clients, error_code, why_not
from decision_client.builds.deployed import NotDeployed, NotReadable
from decision_client.builds.request import ImagePlace, PackagePlace
from decision_client.place import Place
from decision_provenance.manifest import MANIFEST_LIMIT_BYTES, MANIFEST_NAME, Manifest
from decision_provenance.s3_object import ObjectRefused, read_small


@dataclass(frozen=True)
class BuildResult:
    """Where it is (an S3 URI, or an image's repository and tag) and its digest."""

    uri: str
    digest: str


def find_result(place: PackagePlace | ImagePlace, where: Place, clients: Clients) -> BuildResult | None:
    """The finished result, or None while there is none.

    Raises
    ------
    NotReadable
        If AWS does not say, or something else lies there.
    NotDeployed
        If its repository does not exist.
    """
    return (
        _find_package(place, where, clients) if isinstance(place, PackagePlace) else _find_image(place, where, clients)
    )


def _find_package(place: PackagePlace, where: Place, clients: Clients) -> BuildResult | None:
    uri = f"s3://{place.bucket}/{place.key}"
    try:
        content = read_small(clients("s3", where.region), place.bucket, place.key, limit=MANIFEST_LIMIT_BYTES)
        if content is None:
            return None
        digest = Manifest.from_bytes(content).digest
    except ObjectRefused as error:
        raise NotReadable(str(error)) from error
    except ValueError as error:
        raise NotReadable(f"{uri}: {error}; delete it first") from error
    except AwsError as error:
        raise NotReadable(why_not(error, "s3:GetObject")) from error
    return BuildResult(uri.removesuffix(MANIFEST_NAME), digest)


def _find_image(place: ImagePlace, where: Place, clients: Clients) -> BuildResult | None:
    try:
        answer = clients("ecr", where.region).describe_images(
            repositoryName=place.repository, imageIds=[{"imageTag": place.tag}]
        )
    except AwsError as error:
        if error_code(error) == "ImageNotFoundException":
            return None
        if error_code(error) == "RepositoryNotFoundException":
            raise NotDeployed(f"there is no ECR repository {place.repository}: deploy its stack first") from error
        raise NotReadable(why_not(error, "ecr:DescribeImages")) from error
    digests = [str(image["imageDigest"]) for image in answer.get("imageDetails", [])]
    return BuildResult(f"{place.repository}:{place.tag}", digests[0]) if digests else None
