"""DescribeImages as ECR has it: an image that is asked for and not there is an error, not an empty list."""

from __future__ import annotations

from ministack.services import ecr  # type: ignore[import-untyped]

from local_cloud.aws_model import JsonObject
from local_cloud.ministack_seams import Response, account_id, json_refusal


def install() -> None:
    """Refuse images that are not there. The emulator looks the operation up by name at each call."""
    describe = ecr._describe_images

    def describe_or_refuse(params: JsonObject) -> Response:
        repository = params.get("repositoryName", "")
        for wanted in params.get("imageIds", []) if repository in ecr._repositories else []:
            if ecr._find_image(repository, wanted) is None:
                shown = ", ".join(f"{name}:'{wanted.get(name, 'null')}'" for name in ("imageDigest", "imageTag"))
                return json_refusal(
                    "ImageNotFoundException",
                    f"The image with imageId {{{shown}}} does not exist within the repository with name '{repository}' "
                    f"in the registry with id '{account_id()}'",
                )
        answer: Response = describe(params)
        return answer

    ecr._describe_images = describe_or_refuse
