"""The container image of an endpoint: always one digest, never a tag."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from aws_cdk import Aws, Stack, Token
from aws_cdk import aws_iam as iam
from aws_cdk.region_info import RegionInfo
from constructs import Construct

from .assets import content_sha256
from .errors import InvalidArguments, did_you_mean
from .instance_catalog import Architecture

_ECR_URI = re.compile(
    # Not \d, which takes the digits of every script; and the domain is of the region's partition.
    r"(?P<account>[0-9]{12})\.dkr\.ecr\.(?P<region>(?:(?P<china>cn-)|(?!cn-))[a-z0-9-]+)\.amazonaws\.com(?(china)\.cn)/"
    r"(?P<repository>[a-z0-9]+([._/-][a-z0-9]+)*)@sha256:(?P<digest>[0-9a-f]{64})"
)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_ACCOUNT = re.compile(r"[0-9]{12}")
# The images that implement the SageMaker contract, and what they are built for.
_DLC_REPOSITORIES: dict[str, tuple[str, Architecture]] = {
    "cpu": ("llama-cpp", "x86_64"),
    "cuda": ("llama-cpp", "x86_64"),
    "graviton": ("llama-cpp-arm64", "arm64"),
}
_WANTED = "<account>.dkr.ecr.<region>.amazonaws.com/<repository>@sha256:<64 lower-case hex digits>"


@dataclass(frozen=True, slots=True)
class BoundImage:
    """An image as a stack sees it: its URI, the ARN of the repository it is pulled from, and what it is built for.

    `architecture` is None where nobody said.
    """

    uri: str
    repository_arn: str
    architecture: Architecture | None = None

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
    architecture:
        What it is built for, ``"x86_64"`` or ``"arm64"``, so that an endpoint on instances of the other one is refused.
        Default: not checked.

    Raises
    ------
    InvalidArguments
        If it names a tag (tags move), a registry that SageMaker cannot pull from, or is malformed, or the architecture
        is another; when bound to a stack: if it is in another region.

    Examples
    --------
    >>> image = EcrImage("123456789012.dkr.ecr.us-east-1.amazonaws.com/decision-adapter@sha256:" + "13c16f42" * 8)
    >>> EcrImage("123456789012.dkr.ecr.us-east-1.amazonaws.com/decision-adapter:latest")
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: EcrImage: ...:latest names a tag, and tags move: ...
    """

    def __init__(self, uri: str, *, architecture: Architecture | None = None) -> None:
        complaints = []
        if architecture not in (None, "x86_64", "arm64"):
            complaints.append(f"architecture is {architecture!r}: {did_you_mean(architecture, ['x86_64', 'arm64'])}")
        match = _ECR_URI.fullmatch(uri)
        if match is None or complaints:
            raise InvalidArguments("EcrImage", [*([] if match else [_what_is_wrong(uri)]), *complaints])
        self._uri = uri
        self._architecture = architecture
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
            architecture=self._architecture,
        )


class DlcImage:
    """AWS's Deep Learning Container for llama.cpp, from the registry of the stack's region.

    It answers chat completions and no decisions: the adapter's image is built on it.

    Parameters
    ----------
    target:
        ``"cpu"`` (x86-64), ``"cuda"`` (x86-64 with NVIDIA GPUs) or ``"graviton"`` (arm64).
    digest:
        ``sha256:<64 lower-case hex digits>``, of this target's image: tags move.
    registry_account:
        The 12 digits of the registry's account. Default: what the CDK knows for the region.

    Attributes
    ----------
    target, digest, architecture:
        As given, and the processor that the target has.

    Raises
    ------
    InvalidArguments
        If an argument is malformed; when bound to a stack: if the registry's account is not known there.

    Examples
    --------
    >>> DlcImage("cpu", digest="sha256:" + "1f19c220" * 8).bind(stack).uri.partition("@")[0]
    '763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp'
    >>> DlcImage("gpu", digest="latest")
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: DlcImage: target is 'gpu': ...; digest is 'latest': ...

    Source: AWS Deep Learning Containers, "Available images" and "Regional availability".
    """

    def __init__(
        self, target: Literal["cpu", "cuda", "graviton"], *, digest: str, registry_account: str | None = None
    ) -> None:
        complaints = []
        if target not in _DLC_REPOSITORIES:
            complaints.append(f"target is {target!r}: {did_you_mean(target, _DLC_REPOSITORIES)}")
        if not _DIGEST.fullmatch(digest):
            complaints.append(f"digest is {digest!r}: give sha256:<64 lower-case hex digits>, for tags move")
        if registry_account is not None and not _ACCOUNT.fullmatch(registry_account):
            complaints.append(f"registry_account is {registry_account!r}: give 12 digits, or leave it out")
        if complaints:
            raise InvalidArguments("DlcImage", complaints)
        self.target = target
        self.digest = digest
        self._repository, self.architecture = _DLC_REPOSITORIES[target]
        self._registry_account = registry_account

    def bind(self, scope: Construct) -> BoundImage:
        """The image in the region of the stack of `scope`."""
        region = Stack.of(scope).region
        known = None if Token.is_unresolved(region) else RegionInfo.get(region)
        account = self._registry_account
        suffix: str | None = None
        if known:
            account = account or known.dlc_repository_account
            suffix = known.domain_suffix
        if not account:
            raise InvalidArguments("DlcImage", [_no_registry(region if known else None)])
        return BoundImage(
            uri=f"{account}.dkr.ecr.{region}.{suffix or Aws.URL_SUFFIX}/{self._repository}@{self.digest}",
            repository_arn=f"arn:{Aws.PARTITION}:ecr:{region}:{account}:repository/{self._repository}",
            architecture=self.architecture,
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


def _no_registry(region: str | None) -> str:
    if region is None:
        found = "the stack has no region of its own, and each region has a registry of its own"
        return f"{found}: give the stack an env with a region, or give registry_account"
    return f"the CDK knows no registry of Deep Learning Containers in {region}: give registry_account, if there is one"


def _what_is_wrong(uri: str) -> str:
    if uri.startswith("public.ecr.aws/") or ".dkr.ecr." not in uri:
        return f"{uri} is not in private ECR, and SageMaker pulls from nowhere else: copy it there and give {_WANTED}"
    name, at, digest = uri.partition("@")
    if not at and ":" in name:
        return f"{uri} names a tag, and tags move: give {_WANTED}"
    if digest != digest.lower():
        return f"{uri} has upper-case letters in its digest, and registries compare it letter by letter: give {_WANTED}"
    return f"{uri} is no image URI with a digest: give {_WANTED}"
