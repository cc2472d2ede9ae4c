"""The container image of an endpoint: always one digest, never a tag."""

from __future__ import annotations

import re
from dataclasses import dataclass

from aws_cdk import Aws, Stack, Token
from aws_cdk import aws_iam as iam
from constructs import Construct

from .assets import content_sha256
from .errors import InvalidArguments

_ECR_URI = re.compile(
    r"(?P<account>\d{12})\.dkr\.ecr\.(?P<region>[a-z0-9-]+)\.amazonaws\.com(\.cn)?/"
    r"(?P<repository>[a-z0-9]+([._/-][a-z0-9]+)*)@sha256:(?P<digest>[0-9a-f]{64})"
)
_WANTED = "<account>.dkr.ecr.<region>.amazonaws.com/<repository>@sha256:<64 lower-case hex digits>"


@dataclass(frozen=True, slots=True)
class BoundImage:
    """An image as a stack sees it: its URI, and the ARN of the repository it is pulled from."""

    uri: str
    repository_arn: str

    def grant_pull(self, grantee: iam.IGrantable) -> None:
        """Let `grantee` pull from this repository."""
        pull = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
        iam.Grant.add_to_principal(grantee=grantee, actions=pull, resource_arns=[self.repository_arn])
        # A token is for the whole registry: this action knows no resource.
        iam.Grant.add_to_principal(grantee=grantee, actions=["ecr:GetAuthorizationToken"], resource_arns=["*"])


class EcrImage:
    """An image in private ECR, in the region of the endpoint.

    Parameters
    ----------
    uri:
        ``<account>.dkr.ecr.<region>.amazonaws.com/<repository>@sha256:<64 lower-case hex digits>``.

    Raises
    ------
    InvalidArguments
        If it names a tag (tags move), a registry that SageMaker cannot pull from, or is malformed; when bound to a
        stack: if it is in another region.

    Examples
    --------
    >>> image = EcrImage("123456789012.dkr.ecr.us-east-1.amazonaws.com/decision-adapter@sha256:" + "13c16f42" * 8)
    >>> EcrImage("123456789012.dkr.ecr.us-east-1.amazonaws.com/decision-adapter:latest")
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: EcrImage: ...:latest names a tag, and tags move: ...
    """

    def __init__(self, uri: str) -> None:
        match = _ECR_URI.fullmatch(uri)
        if match is None:
            raise InvalidArguments("EcrImage", [_what_is_wrong(uri)])
        self._uri = uri
        self._account, self._region, self._repository = match.group("account", "region", "repository")

    def bind(self, scope: Construct) -> BoundImage:
        """Check the image against the stack of `scope`."""
        region = Stack.of(scope).region
        if not Token.is_unresolved(region) and region != self._region:
            found = f"the image is in {self._region} and the endpoint in {region}"
            raise InvalidArguments("EcrImage", [f"{found}: copy the image to {region} and give that URI"])
        return BoundImage(
            uri=self._uri,
            repository_arn=f"arn:{Aws.PARTITION}:ecr:{self._region}:{self._account}:repository/{self._repository}",
        )


class CheckoutImage:
    """The adapter's own code, as it is here, for the local cloud: which hosts it as a process and pulls no image.

    The digest in its URI is of the code, so changed code is a new model there as a new image is one on AWS. No registry
    has it.

    Examples
    --------
    >>> CheckoutImage().bind(stack).uri.partition("@")[2][:7]
    'sha256:'
    """

    def bind(self, scope: Construct) -> BoundImage:
        """The URI that the image would have in the account and region of `scope`."""
        stack = Stack.of(scope)
        digest = content_sha256("decision_adapter", "decision_provenance")
        return BoundImage(
            uri=f"{stack.account}.dkr.ecr.{stack.region}.amazonaws.com/decision-adapter@sha256:{digest}",
            repository_arn=stack.format_arn(service="ecr", resource="repository", resource_name="decision-adapter"),
        )


def _what_is_wrong(uri: str) -> str:
    if uri.startswith("public.ecr.aws/") or ".dkr.ecr." not in uri:
        return f"{uri} is not in private ECR, and SageMaker pulls from nowhere else: copy it there and give {_WANTED}"
    name, at, digest = uri.partition("@")
    if not at and ":" in name:
        return f"{uri} names a tag, and tags move: give {_WANTED}"
    if digest != digest.lower():
        return f"{uri} has upper-case letters in its digest, and registries compare it letter by letter: give {_WANTED}"
    return f"{uri} is no image URI with a digest: give {_WANTED}"
