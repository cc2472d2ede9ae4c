"""The adapter's container image: built in the account, on one digest of AWS's llama.cpp container."""

from __future__ import annotations

import hashlib

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from .assets import adapter_image_folder, folder_sha256
from .build_run import BuildRun, ImageResult
from .images import BoundImage, DlcImage
from .instance_catalog import Architecture

_PLATFORMS: dict[Architecture, str] = {"x86_64": "linux/amd64", "arm64": "linux/arm64"}
_TAG_DIGITS = 32


class AdapterImage(Construct):
    """The means to build the adapter's image: an ECR repository, a CodeBuild project, its role and its log.

    Nothing runs yet. Belongs with what lasts, beside the `ArtifactStore`; `BuiltImage` runs it, in the stack that needs
    the image. Another digest of the base changes nothing here.

    No lifecycle rule removes images: a rollback needs the one it returns to, and ECR cannot know which that is. An
    image is about 1 GB for CPUs and 3 GB with CUDA.

    Parameters
    ----------
    base:
        AWS's container that the adapter is put into: for CPUs, CUDA or Graviton.
    retain:
        Keep the repository and its images when the stack goes. Default: True.

    Attributes
    ----------
    repository:
        Where the images are: tags cannot be moved, each image is scanned when it arrives.
    project, role, log_group:
        The CodeBuild project, what it runs as, and where it logs.
    base, target, architecture:
        The base, and what the image is for.
    source_sha256:
        The digest of the build's source: the adapter's code, its lock file, the Dockerfile and the build itself.

    Raises
    ------
    InvalidArguments
        If the registry of the base is not known in the stack's region.

    Examples
    --------
    >>> image = AdapterImage(stack, "AdapterImage", base=DlcImage("cpu", digest="sha256:" + "1f19c220" * 8))
    >>> BuiltImage(stack, "Image", image=image).tag.partition("-")[0]
    'cpu'

    Source: AWS CodeBuild user guide, "Publish Docker image to an Amazon ECR image repository"; Amazon ECR user guide,
    "Preventing image tags from being overwritten".
    """

    def __init__(self, scope: Construct, id: str, *, base: DlcImage, retain: bool = True) -> None:
        super().__init__(scope, id)
        self.base = base
        self.target = base.target
        self.architecture = base.architecture
        self._base = base.bind(self)
        self.repository = ecr.Repository(
            self,
            "Repository",
            image_tag_mutability=ecr.TagMutability.IMMUTABLE,
            image_scan_on_push=True,
            removal_policy=RemovalPolicy.RETAIN if retain else RemovalPolicy.DESTROY,
            empty_on_delete=not retain,
        )
        self.log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.THREE_MONTHS, removal_policy=RemovalPolicy.DESTROY
        )
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
        with adapter_image_folder() as folder:
            code = s3_assets.Asset(self, "Code", path=str(folder))
            self.source_sha256 = folder_sha256(folder)
        self.project = self._build_project(code)
        self._base.grant_pull(self.role)
        self.repository.grant_pull_push(self.role)
        # To find the image that is there already, and the digest of the one that was pushed.
        self.repository.grant(self.role, "ecr:DescribeImages")

    @property
    def base_uri(self) -> str:
        """The base by digest, in the region's registry."""
        return self._base.uri

    def tag(self, rebuild: str) -> str:
        """A tag made of everything that decides the image: the code, the base, what it is for, and `rebuild`."""
        inputs = "\n".join([self.source_sha256, self.base.digest, self.target, rebuild])
        return f"{self.target}-{hashlib.sha256(inputs.encode()).hexdigest()[:_TAG_DIGITS]}"

    def _build_project(self, code: s3_assets.Asset) -> codebuild.Project:
        arm = self.architecture == "arm64"
        return codebuild.Project(
            self,
            "Project",
            role=self.role,
            description=f"Builds the decision adapter's image for {self.target}",
            source=codebuild.Source.s3(bucket=code.bucket, path=code.s3_object_key),
            build_spec=codebuild.BuildSpec.from_source_filename("buildspec.yml"),
            environment=codebuild.BuildEnvironment(
                build_image=(
                    codebuild.LinuxArmBuildImage.AMAZON_LINUX_2023_STANDARD_3_0
                    if arm
                    else codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5
                ),
                compute_type=codebuild.ComputeType.SMALL,
                # Docker runs inside the build.
                privileged=True,
            ),
            environment_variables={
                "PLATFORM": codebuild.BuildEnvironmentVariable(value=_PLATFORMS[self.architecture]),
                "REPOSITORY": codebuild.BuildEnvironmentVariable(value=self.repository.repository_uri),
            },
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=self.log_group)),
            # Together the 50 minutes that a deploy waits: a build that would answer later only costs money.
            queued_timeout=Duration.minutes(5),
            timeout=Duration.minutes(45),
            grant_report_group_permissions=False,
        )


class BuiltImage(Construct):
    """An image that exists: the build runs if it must, and answers with the digest that ECR gave.

    Parameters
    ----------
    image:
        What to run, of this stack or another one.
    rebuild:
        Any text. Another one builds anew from the same inputs, as for security patches of what they download.
        Default: empty.
    query_interval:
        How often a running build is looked at, see `BuildRun`. Default: 15 seconds.

    Attributes
    ----------
    uri, digest:
        The image by its digest, and the digest, ``sha256:…``.
    tag, target:
        The tag that it was pushed with, which says what went into it, and what it is for.
    run:
        The custom resource.

    Examples
    --------
    See `AdapterImage`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        image: AdapterImage,
        rebuild: str = "",
        query_interval: Duration | None = None,
    ) -> None:
        super().__init__(scope, id)
        self._image = image
        self.target = image.target
        self.tag = image.tag(rebuild)
        self.run = BuildRun(
            self,
            "Build",
            project=image.project,
            log_group=image.log_group,
            result=ImageResult(image.repository, self.tag),
            inputs=hashlib.sha256(self.tag.encode()).hexdigest(),
            # The source, because the project may still have another one than the tag is made of: the build refuses it.
            environment={"BASE_IMAGE": image.base_uri, "TAG": self.tag, "SOURCE_SHA256": image.source_sha256},
            query_interval=query_interval,
        )
        self.digest = self.run.digest
        # Not `repository_uri_for_digest`: of another stack's repository it would export a name for each use.
        self.uri = f"{image.repository.repository_uri}@{self.digest}"

    def bind(self, scope: Construct) -> BoundImage:
        """The image as an endpoint takes it; the endpoint waits for the build."""
        return BoundImage(
            uri=self.uri, repository_arn=self._image.repository.repository_arn, architecture=self._image.architecture
        )
