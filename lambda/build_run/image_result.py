"""The finished result of an image build: an image under the tag that the template expects."""

from __future__ import annotations

import re
from typing import Any, Protocol

from request import ImagePlace

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


class EcrClient(Protocol):
    """What is used of boto3's client for ECR."""

    exceptions: Any

    def describe_images(self, *, repositoryName: str, imageIds: list[dict[str, str]]) -> dict[str, Any]:  # noqa: N803
        """The images with these ids."""


class ImageNotReadable(Exception):
    """ECR did not say whether the image exists; the text says what to do."""


def find_image(place: ImagePlace, ecr: EcrClient) -> dict[str, str] | None:
    """What `Fn::GetAtt` returns of the pushed image, or None while there is none.

    Raises
    ------
    ImageNotReadable
        If ECR answers anything else.
    """
    try:
        answer = ecr.describe_images(repositoryName=place.repository, imageIds=[{"imageTag": place.tag}])
    except ecr.exceptions.ImageNotFoundException:
        return None
    except ecr.exceptions.RepositoryNotFoundException as error:
        raise ImageNotReadable(
            f"ECR repository {place.repository!r} does not exist: deploy the stack that holds it first"
        ) from error
    except ecr.exceptions.ClientError as error:
        code = error.response.get("Error", {}).get("Code")
        raise ImageNotReadable(
            f"ECR did not describe {place.repository}:{place.tag} ({code}): this role needs ecr:DescribeImages on the "
            "repository; deploy again"
        ) from error
    digests = {str(image.get("imageDigest")) for image in answer["imageDetails"]}
    if not digests:
        return None
    if len(digests) > 1 or not _DIGEST.fullmatch(min(digests)):
        raise ImageNotReadable(
            f"ECR names {', '.join(sorted(digests))[:300]} as the image {place.repository}:{place.tag}: "
            "one sha256 digest is needed; delete the tag and deploy again"
        )
    return {"Digest": digests.pop()}
