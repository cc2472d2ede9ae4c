"""A SageMaker endpoint that answers decisions."""

from __future__ import annotations

from aws_cdk import ArnFormat, Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .compute import Compute
from .endpoint_logs import EndpointLogs
from .errors import InvalidArguments
from .fit import Load, context_bytes, fit_complaints
from .images import BoundImage, CheckoutImage, EcrImage
from .model_package import PackagedModel

VARIANT_NAME = "main"
"""The one production variant. It is a dimension of every metric, so it never changes."""

_DEFAULT_CONTEXT_TOKENS = 4096
# Under this the question and its options alone are too long.
_FEWEST_CONTEXT_TOKENS = 128
_SHORTEST_TIMEOUT_MS = 60_000
_LONGEST_TIMEOUT_MS = 3_600_000


class DecisionEndpoint(Construct):
    """Model, endpoint config and endpoint, with a role that can do what the container needs and nothing else.

    The container has no network. It gets the verified digest and answers no ping until the model it finds has it. The
    endpoint's name stays; any other change makes a new model or endpoint config, and SageMaker moves the endpoint over
    when it is healthy.

    Parameters
    ----------
    model:
        The verified model. The endpoint cannot exist before it.
    image:
        The adapter: `EcrImage`, or `CheckoutImage` on the local cloud.
    compute:
        `CpuInstance`, `GravitonInstance` or `GpuPool`.
    logs:
        The endpoint's log group, which carries its name.
    context_tokens:
        The longest prompt in tokens, at most what the model was trained for. Default: 4096, or the model's own limit if
        lower.
    prefixes:
        How many evaluated states are kept for the next question about them, at least 1; each takes the memory of one
        context. Default: 2.
    instance_count:
        Instances, at least 1. Default: 1.
    startup_timeout:
        How long a container may take to answer its first ping, 1 to 60 minutes. It hashes and loads the model in that
        time. Default: 10 minutes.
    download_timeout:
        How long an instance may take to download the model, 1 to 60 minutes. Default: 20 minutes.

    Attributes
    ----------
    cfn_model, cfn_endpoint_config, cfn_endpoint:
        The resources themselves, for what this construct does not offer.
    role:
        The execution role.
    endpoint_name, endpoint_arn:
        The name as given, and the ARN.

    Raises
    ------
    InvalidArguments
        If a number is out of range, the image is in another region or for another architecture, or the model does not
        fit into the memory of the compute; all complaints at once.

    Examples
    --------
    >>> endpoint = DecisionEndpoint(
    ...     stack,
    ...     "Endpoint",
    ...     model=packaged_model,
    ...     image=EcrImage("123456789012.dkr.ecr.us-east-1.amazonaws.com/decision-adapter@sha256:" + "13c16f42" * 8),
    ...     compute=CpuInstance("ml.c6i.xlarge"),
    ...     logs=EndpointLogs(stack, "Logs", endpoint_name="decisions-dev"),
    ... )
    >>> _ = endpoint.grant_invoke(application_role)

    Source: Amazon SageMaker AI developer guide, "Deploy uncompressed models", "Custom inference code with hosting
    services", "CreateModel API: execution role permissions".
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: PackagedModel,
        image: EcrImage | CheckoutImage,
        compute: Compute,
        logs: EndpointLogs,
        context_tokens: int | None = None,
        prefixes: int = 2,
        instance_count: int = 1,
        startup_timeout: Duration | None = None,
        download_timeout: Duration | None = None,
    ) -> None:
        super().__init__(scope, id)
        if context_tokens is None:
            context_tokens = min(_DEFAULT_CONTEXT_TOKENS, model.facts.context_length or _DEFAULT_CONTEXT_TOKENS)
        startup_timeout = startup_timeout or Duration.minutes(10)
        download_timeout = download_timeout or Duration.minutes(20)
        complaints = [
            *_context_complaints(context_tokens, model.facts.context_length),
            *_count_complaints("prefixes", prefixes),
        ]
        if not complaints:
            context = context_bytes(model.facts, context_tokens=context_tokens, prefixes=prefixes)
            complaints += fit_complaints(Load(model_bytes=model.bytes, context_bytes=context), compute)
        complaints += [
            *_count_complaints("instance_count", instance_count),
            *_timeout_complaints("startup_timeout", startup_timeout),
            *_timeout_complaints("download_timeout", download_timeout),
        ]
        try:
            bound_image = image.bind(self)
            complaints += _architecture_complaints(bound_image, compute)
        except InvalidArguments as refused:
            complaints += refused.complaints
        if complaints:
            raise InvalidArguments(f"DecisionEndpoint {self.node.path}", complaints)

        self.endpoint_name = logs.endpoint_name
        self.role = self._build_role(model, bound_image, logs)
        self.cfn_model = self._build_model(
            model,
            bound_image,
            settings={
                "DECISION_MODEL_NAME": model.name,
                "DECISION_MODEL_SHA256": model.digest,
                "DECISION_THREADS": str(compute.threads),
                "DECISION_CONTEXT_TOKENS": str(context_tokens),
                "DECISION_PREFIXES": str(prefixes),
                **({} if compute.gpu_layers is None else {"DECISION_GPU_LAYERS": str(compute.gpu_layers)}),
            },
        )
        self.cfn_endpoint_config = self._build_endpoint_config(
            compute, instance_count, startup_timeout, download_timeout
        )
        self.cfn_endpoint = sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=self.endpoint_name,
            endpoint_config_name=self.cfn_endpoint_config.attr_endpoint_config_name,
        )
        # Its first line must find the group, with its retention; else SageMaker makes one of its own.
        self.cfn_endpoint.node.add_dependency(logs)
        # Ref, not a composed ARN: SageMaker writes the name in lower case there.
        self.endpoint_arn = self.cfn_endpoint.ref

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` ask this endpoint."""
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=["sagemaker:InvokeEndpoint"], resource_arns=[self.endpoint_arn]
        )

    def metric(self, name: str, *, statistic: str = "Sum", period: Duration | None = None) -> cloudwatch.Metric:
        """A metric that SageMaker publishes for this endpoint in ``AWS/SageMaker``. Default period: 1 minute."""
        return cloudwatch.Metric(
            namespace="AWS/SageMaker",
            metric_name=name,
            dimensions_map={"EndpointName": self.endpoint_name, "VariantName": VARIANT_NAME},
            statistic=statistic,
            period=period or Duration.minutes(1),
        )

    def metric_invocations(self) -> cloudwatch.Metric:
        """Requests, answered or not, each minute."""
        return self.metric("Invocations")

    def metric_5xx_errors(self) -> cloudwatch.Metric:
        """Requests answered with a 5xx each minute; a busy adapter's 503 is among them."""
        return self.metric("Invocation5XXErrors")

    def metric_model_latency(self, *, statistic: str = "p95") -> cloudwatch.Metric:
        """Microseconds that the container took to answer."""
        return self.metric("ModelLatency", statistic=statistic)

    def _build_role(self, model: PackagedModel, image: BoundImage, logs: EndpointLogs) -> iam.Role:
        role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"))
        # Every digest of this model, not only the new one: while an update runs, an instance of the old one may start.
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["s3:GetObject"], resources=[model.bucket.arn_for_objects(f"{model.releases_prefix}*")]
            )
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["s3:ListBucket"],
                resources=[model.bucket.bucket_arn],
                conditions={"StringLike": {"s3:prefix": f"{model.releases_prefix}*"}},
            )
        )
        if model.bucket.encryption_key:
            model.bucket.encryption_key.grant_decrypt(role)
        image.grant_pull(role)
        # By name: a reference to another stack's group would be an export, and the endpoint could never be renamed.
        own_log = Stack.of(self).format_arn(
            service="logs",
            resource="log-group",
            resource_name=f"{logs.log_group_name}:*",
            arn_format=ArnFormat.COLON_RESOURCE_NAME,
        )
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                resources=[own_log],
            )
        )
        # CPU and memory of the instances, which SageMaker publishes as this role. The action knows no resource.
        role.add_to_policy(
            iam.PolicyStatement(
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={"StringEquals": {"cloudwatch:namespace": "/aws/sagemaker/Endpoints"}},
            )
        )
        return role

    def _build_model(self, model: PackagedModel, image: BoundImage, *, settings: dict[str, str]) -> sagemaker.CfnModel:
        files = sagemaker.CfnModel.ModelDataSourceProperty(
            s3_data_source=sagemaker.CfnModel.S3DataSourceProperty(
                s3_uri=model.s3_uri,
                s3_data_type="S3Prefix",
                # Quantized weights do not compress, and unpacking them costs start-up time.
                compression_type="None",
            )
        )
        # No name of our own: a model cannot be updated, and two of one name cannot coexist during a replacement.
        cfn_model = sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=self.role.role_arn,
            enable_network_isolation=True,
            primary_container=sagemaker.CfnModel.ContainerDefinitionProperty(
                image=image.uri, environment=settings, model_data_source=files
            ),
        )
        # The role's permissions too: SageMaker checks them when the model is made.
        cfn_model.node.add_dependency(self.role)
        return cfn_model

    def _build_endpoint_config(
        self, compute: Compute, instance_count: int, startup_timeout: Duration, download_timeout: Duration
    ) -> sagemaker.CfnEndpointConfig:
        variant = sagemaker.CfnEndpointConfig.ProductionVariantProperty(
            variant_name=VARIANT_NAME,
            model_name=self.cfn_model.attr_model_name,
            instance_type=compute.instance_type,
            instance_pools=compute.instance_pools,
            inference_ami_version=compute.inference_ami_version,
            initial_instance_count=instance_count,
            initial_variant_weight=1,
            container_startup_health_check_timeout_in_seconds=startup_timeout.to_seconds(),
            model_data_download_timeout_in_seconds=download_timeout.to_seconds(),
            # An instance evaluates one decision at a time: the next request goes where the queue is shortest.
            routing_config=sagemaker.CfnEndpointConfig.RoutingConfigProperty(
                routing_strategy="LEAST_OUTSTANDING_REQUESTS"
            ),
        )
        return sagemaker.CfnEndpointConfig(self, "Config", production_variants=[variant])


def _context_complaints(context_tokens: int, trained_for: int | None) -> list[str]:
    if context_tokens < _FEWEST_CONTEXT_TOKENS:
        return [f"context_tokens is {context_tokens}: give at least {_FEWEST_CONTEXT_TOKENS}"]
    if trained_for is not None and context_tokens > trained_for:
        return [f"context_tokens is {context_tokens} and the model was trained for {trained_for}: give at most that"]
    return []


def _architecture_complaints(image: BoundImage, compute: Compute) -> list[str]:
    if image.architecture in (None, compute.architecture):
        return []
    found = f"the image is for {image.architecture} and {compute.members[0].name} is {compute.architecture}"
    return [f"{found}: give an image for {compute.architecture}, or another compute"]


def _count_complaints(what: str, count: int) -> list[str]:
    return [] if count >= 1 else [f"{what} is {count}: give at least 1"]


def _timeout_complaints(what: str, timeout: Duration) -> list[str]:
    if _SHORTEST_TIMEOUT_MS <= timeout.to_milliseconds() <= _LONGEST_TIMEOUT_MS:
        return []
    seconds = timeout.to_milliseconds() / 1000
    return [f"{what} is {seconds:g} seconds: SageMaker allows 60 to 3600"]
