"""Whether the images that a deploy pulls exist and may be pulled from here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from decision_client.assembly import Stack
from decision_client.aws import AwsError, Clients, error_code, why_not
from decision_client.doctor.finding import Finding, Status
from decision_client.doctor.image_uris import EcrUri, UnreadableUri, image_uris
from decision_client.place import Place

CHECK = "image"
_ACTION = "ecr:BatchGetImage"
# Without them ECR shows an image of another kind in the oldest format, which has another digest.
_MEDIA_TYPES = [
    "application/vnd.docker.distribution.manifest.v2+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.oci.image.index.v1+json",
]


def check_images(stacks: Sequence[Stack], place: Place, clients: Clients) -> Iterator[Finding]:
    """One finding for each image."""
    for image in dict.fromkeys(image for stack in stacks for image in image_uris(stack, place)):
        if isinstance(image, UnreadableUri):
            status = Status.MISSING if image.is_wrong else Status.UNKNOWN
            yield Finding(CHECK, image.used_by, status, image.reason)
        else:
            yield _check(image, place, clients)


def _check(image: EcrUri, place: Place, clients: Clients) -> Finding:
    where = f"registry {image.registry} in {image.region}"
    link = _page(image, place)
    image_id = {"imageDigest": image.digest} if image.digest else {"imageTag": image.tag}
    try:
        # The one call that another account's registry allows, as AWS's own do, beside the pull itself.
        answer = clients("ecr", image.region).batch_get_image(
            registryId=image.registry,
            repositoryName=image.repository,
            imageIds=[image_id],
            acceptedMediaTypes=_MEDIA_TYPES,
        )
    except AwsError as error:
        if error_code(error) == "RepositoryNotFoundException":
            sentence = f"{where} has no repository {image.repository}: push the image there, or correct its URI"
            return Finding(CHECK, str(image), Status.MISSING, sentence, link)
        return Finding(CHECK, str(image), Status.UNKNOWN, why_not(error, f"{_ACTION} on {where}"), link)
    if answer.get("images"):
        return Finding(CHECK, str(image), Status.OK, f"found in {where}")
    failure: dict[str, Any] = next(iter(answer.get("failures", [])), {})
    if failure.get("failureCode") == "ImageNotFound":
        sentence = f"{where} has no such image in {image.repository}: push it there, or correct its digest"
        return Finding(CHECK, str(image), Status.MISSING, sentence, link)
    reason = failure.get("failureReason") or failure.get("failureCode") or "it did not say why"
    return Finding(CHECK, str(image), Status.UNKNOWN, f"{where} gave no image ({reason}): look it up at the link", link)


def _page(image: EcrUri, place: Place) -> str:
    if image.registry == place.account:
        there = Place(image.registry, image.region)
        return there.console(f"ecr/repositories/private/{image.registry}/{image.repository}")
    return "https://aws.github.io/deep-learning-containers/"
