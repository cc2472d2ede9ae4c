"""A model on its way from its source to a verified prefix of the artifact store."""

from __future__ import annotations

import hashlib
import json

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_iam as iam
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3_assets as s3_assets
from constructs import Construct

from decision_provenance.manifest import ARCHIVE_NAME, MANIFEST_NAME, MODELS_PREFIX, PackagedFile, model_prefix

from .artifact_store import ArtifactStore
from .assets import packaging_folder
from .build_disk import compute_type
from .build_run import BuildRun, PackageResult
from .sources import ModelSource
from .verified_gguf import VerifiedGguf


class ModelPackage(Construct):
    """The means to package one model: a CodeBuild project, its role and its log. Nothing runs yet.

    Belongs with what lasts, beside the `ArtifactStore`; `PackagedModel` runs it, in the stack that needs the model. Of
    a model that changes only its pin, this changes nothing but the permission to read the source and, where the model
    needs more disk, the size of the build.

    Parameters
    ----------
    source:
        Where the model comes from: a `HuggingFaceGguf`, `S3Gguf` or `LocalGguf`.
    store:
        Where it goes: ``models/<name>/<digest>/``, uncompressed, with a manifest.
    archive:
        Package it as one ``model.tar.gz`` instead, under ``models/<name>/<digest>-tar/``, for what reads nothing else.
        A quantized model does not compress, and an instance unpacks the archive before it loads the model. Default:
        False.

    Attributes
    ----------
    project, role, log_group:
        The CodeBuild project, what it runs as, and where it logs.
    source, store, archive:
        As given.

    Raises
    ------
    InvalidArguments
        If the source's file is not the pinned one, or no build has the disk for it.

    Examples
    --------
    >>> package = ModelPackage(stack, "Package", source=tiny_source, store=ArtifactStore(stack, "Store"))
    >>> packaged = PackagedModel(stack, "Model", package=package)
    >>> packaged.prefix == f"models/tiny/{tiny_source.digest}/"
    True
    """

    def __init__(
        self, scope: Construct, id: str, *, source: ModelSource, store: ArtifactStore, archive: bool = False
    ) -> None:
        super().__init__(scope, id)
        self.source = source
        self.store = store
        self.archive = archive
        self.log_group = logs.LogGroup(
            self, "Logs", retention=logs.RetentionDays.THREE_MONTHS, removal_policy=RemovalPolicy.DESTROY
        )
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("codebuild.amazonaws.com"))
        self.project = self._build_project()
        store.grant_publish(self.role)
        self.source_location = source.bind(self, reader=self.role).location

    @property
    def prefix(self) -> str:
        """The key prefix of the package in the store: known before anything is built, since the digest is pinned."""
        return model_prefix(self.source.name, self.source.digest, archived=self.archive)

    @property
    def files(self) -> tuple[PackagedFile, ...]:
        """Everything that is packaged: the model's files in shard order, then its tokenizer's."""
        return (*self.source.files, *self.source.tokenizer_files)

    def _build_project(self) -> codebuild.Project:
        with packaging_folder() as folder:
            code = s3_assets.Asset(self, "Code", path=str(folder))
        return codebuild.Project(
            self,
            "Project",
            role=self.role,
            description="Streams a model from its source into the artifact store, if it is the pinned one",
            source=codebuild.Source.s3(bucket=code.bucket, path=code.s3_object_key),
            build_spec=codebuild.BuildSpec.from_source_filename("buildspec.yml"),
            environment=codebuild.BuildEnvironment(
                build_image=codebuild.LinuxBuildImage.AMAZON_LINUX_2023_5,
                compute_type=compute_type(self.files, archive=self.archive, what=f"ModelPackage {self.node.path}"),
            ),
            environment_variables={
                "BUCKET": codebuild.BuildEnvironmentVariable(value=self.store.bucket.bucket_name),
            },
            logging=codebuild.LoggingOptions(cloud_watch=codebuild.CloudWatchLoggingOptions(log_group=self.log_group)),
            # Together the 50 minutes that a deploy waits: a build that would answer later only costs money.
            queued_timeout=Duration.minutes(5),
            timeout=Duration.minutes(45),
            grant_report_group_permissions=False,
        )


class PackagedModel(Construct):
    """A package that exists and was verified: the build runs if it must, then the pin is checked.

    Parameters
    ----------
    package:
        What to run, of this stack or another one.
    query_interval:
        How often a running build is looked at, see `BuildRun`. Default: 15 seconds.

    Attributes
    ----------
    name, digest, facts, bytes:
        The pin's name, package digest and GGUF facts, and the length of all its files.
    files, model_digest:
        The model's files in shard order, and the digest of these alone: what is loaded.
    bucket, prefix, archived:
        Where the files are, and whether they are in one ``model.tar.gz`` there.
    releases_prefix:
        Where every digest of this model is, this one and those before it.
    s3_uri:
        The verified prefix, ``s3://…/``, or archive, ``s3://…/model.tar.gz``; what uses it waits for the verification.
    build, verified:
        The two custom resources.

    Examples
    --------
    See `ModelPackage`.
    """

    def __init__(
        self, scope: Construct, id: str, *, package: ModelPackage, query_interval: Duration | None = None
    ) -> None:
        super().__init__(scope, id)
        source = package.source
        self.name = source.name
        self.digest = source.digest
        self.model_digest = source.model_digest
        self.archived = package.archive
        self.files = tuple(source.files)
        self.facts = source.facts
        self.bytes = sum(file.bytes for file in package.files)
        self.bucket = package.store.bucket
        self.prefix = package.prefix
        self.releases_prefix = f"{MODELS_PREFIX}{source.name}/"
        self.build = self._build_run(package, query_interval)
        self.verified = VerifiedGguf(
            self,
            "Verified",
            store=package.store,
            prefix=self.prefix,
            files=package.files,
            archive=ARCHIVE_NAME if package.archive else None,
        )
        self.verified.resource.node.add_dependency(self.build.resource)
        self.s3_uri = self.verified.s3_uri

    def _build_run(self, package: ModelPackage, query_interval: Duration | None) -> BuildRun:
        pin = [file.to_json() for file in package.files]
        inputs = {"name": self.name, "pin": pin, "archive": package.archive}
        return BuildRun(
            self,
            "Build",
            project=package.project,
            log_group=package.log_group,
            result=PackageResult(self.bucket, f"{self.prefix}{MANIFEST_NAME}"),
            inputs=hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest(),
            environment={
                "MODEL_NAME": self.name,
                "PIN": json.dumps(pin),
                "SOURCE": Stack.of(self).to_json_string(package.source_location),
                "ARCHIVE": str(package.archive).lower(),
            },
            query_interval=query_interval,
        )
