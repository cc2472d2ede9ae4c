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

from decision_provenance.manifest import MANIFEST_NAME, MODELS_PREFIX

from .artifact_store import ArtifactStore
from .assets import packaging_folder
from .build_run import BuildRun
from .sources import LocalGguf
from .verified_gguf import VerifiedGguf


class ModelPackage(Construct):
    """The means to package one model: a CodeBuild project, its role and its log. Nothing runs yet.

    Belongs with what lasts, beside the `ArtifactStore`; `PackagedModel` runs it, in the stack that needs the model. Of
    a model that changes only its pin, this changes nothing but the permission to read the source.

    Parameters
    ----------
    source:
        Where the model comes from.
    store:
        Where it goes: ``models/<name>/<digest>/``, uncompressed, with a manifest.

    Attributes
    ----------
    project, role, log_group:
        The CodeBuild project, what it runs as, and where it logs.
    source, store:
        As given.

    Raises
    ------
    InvalidArguments
        If the source's file is not the pinned one.

    Examples
    --------
    >>> package = ModelPackage(stack, "Package", source=tiny_source, store=ArtifactStore(stack, "Store"))
    >>> packaged = PackagedModel(stack, "Model", package=package)
    >>> packaged.prefix == f"models/tiny/{tiny_source.digest}/"
    True
    """

    def __init__(self, scope: Construct, id: str, *, source: LocalGguf, store: ArtifactStore) -> None:
        super().__init__(scope, id)
        self.source = source
        self.store = store
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
        return self.store.model_prefix(self.source.name, self.source.digest)

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
                compute_type=codebuild.ComputeType.SMALL,
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
    bucket, prefix:
        Where the files are.
    releases_prefix:
        Where every digest of this model is, this one and those before it.
    s3_uri:
        The verified prefix, ``s3://…/``; what uses it waits for the verification.
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
        self.facts = source.facts
        self.bytes = sum(file.bytes for file in source.files)
        self.bucket = package.store.bucket
        self.prefix = package.prefix
        self.releases_prefix = f"{MODELS_PREFIX}{source.name}/"
        pin = [file.to_json() for file in source.files]
        self.build = BuildRun(
            self,
            "Build",
            project=package.project,
            log_group=package.log_group,
            result_bucket=self.bucket,
            result_key=f"{self.prefix}{MANIFEST_NAME}",
            inputs=_inputs_sha256(source.name, pin),
            environment={
                "MODEL_NAME": source.name,
                "PIN": json.dumps(pin),
                "SOURCE": Stack.of(self).to_json_string(package.source_location),
            },
            query_interval=query_interval,
        )
        self.verified = VerifiedGguf(self, "Verified", bucket=self.bucket, prefix=self.prefix, files=source.files)
        self.verified.resource.node.add_dependency(self.build.resource)
        self.s3_uri = self.verified.s3_uri


def _inputs_sha256(name: str, pin: list[dict[str, str | int]]) -> str:
    return hashlib.sha256(json.dumps({"name": name, "pin": pin}, sort_keys=True).encode()).hexdigest()
