"""A build that runs inside the deploy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from aws_cdk import CustomResource, Duration, Stack, Token
from aws_cdk import aws_codebuild as codebuild
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from aws_cdk import custom_resources as cr
from constructs import Construct

from .assets import lambda_folder
from .errors import InvalidArguments
from .functions import every_digest, function_log_group, function_role, python_function

# CloudFormation gives a custom resource one hour. This counts the pauses alone: each of the looks between them takes a
# second or two on top.
_WAIT = Duration.minutes(50)
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,127}")


@dataclass(frozen=True, slots=True)
class PackageResult:
    """A build that leaves a model package: its manifest, which the build writes last.

    Parameters
    ----------
    bucket:
        Where the package goes.
    key:
        The manifest's key: ``models/<name>/<digest>/model-manifest.json``.

    Examples
    --------
    >>> PackageResult(bucket, f"models/tiny/{'13c16f42' * 8}/model-manifest.json").key[:20]
    'models/tiny/13c16f42'
    """

    bucket: s3.IBucket
    key: str

    def to_properties(self) -> dict[str, str]:
        """What the custom resource is told to look for."""
        return {"ResultBucket": self.bucket.bucket_name, "ResultKey": self.key}

    def grant_find(self, finder: iam.IGrantable) -> None:
        """Let `finder` see this result, under whatever digest, and nothing else."""
        finder.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(
                actions=["s3:GetObject"], resources=[self.bucket.arn_for_objects(every_digest(self.key))]
            )
        )
        # Without it a result that is not there yet reads as "access denied" (no condition: a GetObject has no
        # s3:prefix).
        finder.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["s3:ListBucket"], resources=[self.bucket.bucket_arn])
        )
        if self.bucket.encryption_key:
            self.bucket.encryption_key.grant_decrypt(finder)


@dataclass(frozen=True, slots=True)
class ImageResult:
    """A build that leaves a container image.

    Parameters
    ----------
    repository:
        Where the build pushes; its tags must be immutable, or the image that is found may be another build's.
    tag:
        The tag it pushes, made of all that decides the image: 1 to 128 letters, digits and ``_ . -``.

    Raises
    ------
    InvalidArguments
        If ECR would take no such tag.

    Examples
    --------
    >>> ImageResult(repository, "cpu-13c16f42").tag
    'cpu-13c16f42'
    >>> ImageResult(repository, "cpu:13c16f42")
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: ImageResult: tag is 'cpu:13c16f42': ...
    """

    repository: ecr.IRepository
    tag: str

    def __post_init__(self) -> None:
        if not Token.is_unresolved(self.tag) and not _TAG.fullmatch(self.tag):
            allowed = "give 1 to 128 letters, digits, '_', '.' and '-', the first none of the last two"
            raise InvalidArguments("ImageResult", [f"tag is {self.tag!r:.150}: {allowed}"])

    def to_properties(self) -> dict[str, str]:
        """What the custom resource is told to look for."""
        return {"ResultRepository": self.repository.repository_name, "ResultTag": self.tag}

    def grant_find(self, finder: iam.IGrantable) -> None:
        """Let `finder` see this repository's images, whatever their tags, and nothing else."""
        finder.grant_principal.add_to_principal_policy(
            iam.PolicyStatement(actions=["ecr:DescribeImages"], resources=[self.repository.repository_arn])
        )


class BuildRun(Construct):
    """Starts a CodeBuild build during the deploy, waits for it up to 50 minutes, and quotes it when it fails.

    It first looks for the finished result and returns that, so neither a rollback nor a second stack builds again.
    Every `BuildRun` of a stack shares the functions that do the work.

    Parameters
    ----------
    project:
        The CodeBuild project. Its two timeouts, in the queue and of the build, are together at most 50 minutes.
    log_group:
        Where the project logs: a failure quotes its last lines.
    result:
        What exists once a build is complete: a `PackageResult` or an `ImageResult`.
    inputs:
        A digest of everything that decides the result. CloudFormation calls a custom resource only when a property
        changed: this is the property.
    environment:
        Environment variables of this build. Default: none.
    query_interval:
        How often the build is looked at, at least 1 second; the same for all of a stack. Default: 15 seconds.

    Attributes
    ----------
    resource:
        The custom resource.
    digest, build_id:
        What it answered: the package's digest (64 hex digits) or the image's (``sha256:…``), and the build's id, empty
        when the result was already there.

    Raises
    ------
    InvalidArguments
        If `query_interval` is under a second, or another one than that of the stack's first `BuildRun`.

    Examples
    --------
    >>> run = BuildRun(
    ...     stack,
    ...     "Run",
    ...     project=project,
    ...     log_group=log_group,
    ...     result=ImageResult(repository, "cpu-13c16f42"),
    ...     inputs="13c16f42" * 8,
    ... )
    >>> BuildRun(
    ...     stack,
    ...     "Busy",
    ...     project=project,
    ...     log_group=log_group,
    ...     result=PackageResult(bucket, f"models/tiny/{'13c16f42' * 8}/model-manifest.json"),
    ...     inputs="13c16f42" * 8,
    ...     query_interval=Duration.millis(10),
    ... )
    Traceback (most recent call last):
    decision_endpoints.errors.InvalidArguments: BuildRun Stack/Busy: query_interval is 10 ms: ...

    Source: AWS CloudFormation user guide, custom resources ("the response must arrive within one hour").
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        project: codebuild.IProject,
        log_group: logs.ILogGroup,
        result: PackageResult | ImageResult,
        inputs: str,
        environment: Mapping[str, str] | None = None,
        query_interval: Duration | None = None,
    ) -> None:
        super().__init__(scope, id)
        query_interval = query_interval or Duration.seconds(15)
        if query_interval.to_milliseconds() < 1000:
            found = f"query_interval is {query_interval.to_milliseconds():g} ms"
            raise InvalidArguments(f"BuildRun {self.node.path}", [f"{found}: give at least Duration.seconds(1)"])

        functions = _BuildRunFunctions.of_stack(self, query_interval)
        functions.allow(project, log_group, result)
        self.resource = CustomResource(
            self,
            "Resource",
            resource_type="Custom::BuildRun",
            service_token=functions.service_token,
            properties={
                "Project": project.project_name,
                **result.to_properties(),
                "Inputs": inputs,
                "Environment": Stack.of(self).to_json_string(dict(environment or {})),
            },
        )
        # The functions' permissions too, not only the functions.
        self.resource.node.add_dependency(functions)
        self.digest = self.resource.get_att_string("Digest")
        self.build_id = self.resource.get_att_string("BuildId")


class _BuildRunFunctions(Construct):
    """The two functions and the Provider that calls them, once in a stack.

    Their names do not depend on the interval: CloudFormation lets no custom resource change the function behind it.
    """

    @classmethod
    def of_stack(cls, scope: Construct, query_interval: Duration) -> _BuildRunFunctions:
        stack = Stack.of(scope)
        existing = stack.node.try_find_child("BuildRunFunctions")
        if not isinstance(existing, cls):
            return cls(stack, "BuildRunFunctions", query_interval)
        found, first = (interval.to_milliseconds() / 1000 for interval in (query_interval, existing.query_interval))
        if found != first:
            also = f"query_interval is {found:g} s, and {first:g} s for another BuildRun of this stack"
            raise InvalidArguments(f"BuildRun {scope.node.path}", [f"{also}: give both the same"])
        return existing

    def __init__(self, scope: Construct, id: str, query_interval: Duration) -> None:
        super().__init__(scope, id)
        self.query_interval = query_interval
        with lambda_folder("build_run") as folder:
            code = lambda_.Code.from_asset(str(folder))
            self._on_event = self._build_function("OnEvent", code, "handler.on_event")
            self._is_complete = self._build_function("IsComplete", code, "handler.is_complete")
        provider_logs = function_log_group(self, "ProviderLogs")
        provider = cr.Provider(
            self,
            "Provider",
            on_event_handler=self._on_event,
            is_complete_handler=self._is_complete,
            query_interval=query_interval,
            total_timeout=_WAIT,
            log_group=provider_logs,
            framework_on_event_role=function_role(self, "ProviderOnEventRole", log_group=provider_logs),
            framework_complete_and_timeout_role=function_role(self, "ProviderIsCompleteRole", log_group=provider_logs),
            # It would log every look at the build; what matters is in the functions' own logs.
            disable_waiter_state_machine_logging=True,
        )
        self.service_token = provider.service_token

    def allow(
        self, project: codebuild.IProject, log_group: logs.ILogGroup, result: PackageResult | ImageResult
    ) -> None:
        """Let both functions run this project, quote its log and find its result, and nothing else."""
        for function in (self._on_event, self._is_complete):
            function.add_to_role_policy(
                iam.PolicyStatement(
                    actions=["codebuild:StartBuild", "codebuild:BatchGetBuilds"], resources=[project.project_arn]
                )
            )
            # A LogGroup's ARN ends in :*, which covers its streams.
            function.add_to_role_policy(
                iam.PolicyStatement(actions=["logs:GetLogEvents"], resources=[log_group.log_group_arn])
            )
            result.grant_find(function)

    def _build_function(self, id: str, code: lambda_.Code, handler: str) -> lambda_.Function:
        return python_function(self, id, code=code, handler=handler, timeout=Duration.minutes(2), memory_mib=256)
