"""A SageMaker endpoint that answers decisions."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from constructs import Construct

from .compute import Compute
from .data_capture import DataCapture
from .endpoint_image import Image
from .endpoint_logs import EndpointLogs
from .fit import Load, context_bytes, fit_complaints
from .hosted_endpoint import HostedEndpoint
from .hosting import Hosting
from .images import DlcImage
from .invocable_endpoint import InvocableEndpoint, NamedEndpoint
from .model_package import PackagedModel
from .network import Network
from .ranges import count_complaints
from .rollout import Rollout
from .scaling import Scaling
from .shadow import Shadow

_DEFAULT_CONTEXT_TOKENS = 4096
# Under this the question and its options alone are too long.
_FEWEST_CONTEXT_TOKENS = 128


class DecisionEndpoint(HostedEndpoint):
    """Model, endpoint config and endpoint, with a role that can do what the container needs and nothing else.

    The container has no network. It gets the verified digest and answers no ping until the model it finds has it. The
    endpoint's name stays; any other change makes a new model or endpoint config, and SageMaker moves the endpoint over
    when it is healthy.

    Parameters
    ----------
    model:
        The verified model. The endpoint cannot exist before it.
    image:
        The adapter: `BuiltImage`, `EcrImage`, or `CheckoutImage` on the local cloud.
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
        Instances, at least 1; with `scaling`, those it starts with. Default: 1, or the fewest of `scaling`.
    startup_timeout:
        How long a container may take to answer its first ping, 1 to 60 minutes. It hashes and loads the model in that
        time. Default: 10 minutes.
    download_timeout:
        How long an instance may take to download the model, 1 to 60 minutes. Default: 20 minutes.
    scaling:
        Adds and removes instances, and makes updates keep their number. Default: none; each update sets the number to
        `instance_count`.
    rollout:
        How an update replaces the instances, and the alarms that take it back. Default: all at once beside the old
        ones, without alarms.
    network:
        Subnets and security groups of your own. Default: SageMaker's.
    network_isolation:
        Keep the container from any network, also within `network`. Default: True.
    volume_gib:
        Size of each instance's volume, 1 to 512 GiB, and enough for the model. Not with local NVMe storage, which all
        GPU types have. Default: SageMaker's.
    volume_key:
        Key of these volumes. Not with local NVMe storage, which encrypts itself. Default: SageMaker's.
    data_capture:
        Keep requests and answers, with the callers' text, in S3. Default: not.
    shadow:
        A second variant that gets a copy of the requests. Default: none.

    Attributes
    ----------
    cfn_model, cfn_endpoint_config, cfn_endpoint, cfn_shadow_model:
        The resources themselves, for what this construct does not offer; the last is None without a shadow.
    endpoint_scaling:
        The scalable target and its policy, or None.
    role:
        The execution role.
    image_uri:
        What production runs, by digest.
    endpoint_name, endpoint_arn, variant_name:
        The name as given, the ARN, and ``main``.
    metrics, shadow_metrics:
        The metrics of each variant; those of production are methods here, too.
    compute, logs, rollout, scaling, security_groups:
        As given, or what they default to.

    Raises
    ------
    InvalidArguments
        If a number is out of range, the image is none of the adapter, in another region or for another compute, the
        model does not fit into the memory of the compute, or two arguments exclude each other; all complaints at once.

    Examples
    --------
    >>> endpoint = DecisionEndpoint(
    ...     stack,
    ...     "Endpoint",
    ...     model=packaged_model,
    ...     image=EcrImage("123456789012.dkr.ecr.us-east-1.amazonaws.com/decision-adapter@sha256:" + "13c16f42" * 8),
    ...     compute=CpuInstance("ml.c6i.xlarge"),
    ...     logs=EndpointLogs(stack, "Logs", endpoint_name="decisions-dev"),
    ...     scaling=Scaling(min=2, max=6),
    ...     rollout=Rollout.canary(percent=20),
    ... )
    >>> _ = endpoint.grant_invoke(application_role)

    Source: Amazon SageMaker AI developer guide, "Deploy uncompressed models", "Custom inference code with hosting
    services", "CreateModel API: execution role permissions"; API reference, "CreateEndpointConfig" and
    "UpdateEndpoint".
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: PackagedModel,
        image: Image,
        compute: Compute,
        logs: EndpointLogs,
        context_tokens: int | None = None,
        prefixes: int = 2,
        instance_count: int | None = None,
        startup_timeout: Duration | None = None,
        download_timeout: Duration | None = None,
        scaling: Scaling | None = None,
        rollout: Rollout | None = None,
        network: Network | None = None,
        network_isolation: bool = True,
        volume_gib: int | None = None,
        volume_key: kms.IKey | None = None,
        data_capture: DataCapture | None = None,
        shadow: Shadow | None = None,
    ) -> None:
        hosting = Hosting(
            model=model,
            image=image,
            compute=compute,
            logs=logs,
            instance_count=instance_count,
            startup_timeout=startup_timeout,
            download_timeout=download_timeout,
            scaling=scaling,
            rollout=rollout,
            network=network,
            network_isolation=network_isolation,
            volume_gib=volume_gib,
            volume_key=volume_key,
            data_capture=data_capture,
            shadow=shadow,
        )
        super().__init__(scope, id, hosting, _Adapter(context_tokens, prefixes))

    @staticmethod
    def from_endpoint_name(scope: Construct, id: str, endpoint_name: str) -> InvocableEndpoint:
        """An endpoint of the stack's account and region that exists already: to ask it, and to watch it."""
        return NamedEndpoint(scope, id, endpoint_name=endpoint_name)


@dataclass(frozen=True, slots=True)
class _Adapter:
    """The container that answers decisions."""

    context_tokens: int | None
    prefixes: int

    def complaints(self, model: PackagedModel, image: Image, compute: Compute) -> list[str]:
        complaints = []
        if isinstance(image, DlcImage):
            found = "the image is a DlcImage, which answers chat and has no adapter for decisions"
            complaints.append(f"{found}: give the image that is built on it, or take ChatEndpoint")
        context_tokens = self._context_tokens(model)
        wrong = [
            *_context_complaints(context_tokens, model.facts.context_length),
            *count_complaints("prefixes", self.prefixes, least=1),
        ]
        if not wrong:
            context = context_bytes(model.facts, context_tokens=context_tokens, prefixes=self.prefixes)
            wrong = fit_complaints(Load(model_bytes=model.bytes, context_bytes=context), compute)
        return complaints + wrong

    def environment(self, model: PackagedModel, compute: Compute) -> dict[str, str]:
        return {
            "DECISION_MODEL_NAME": model.name,
            "DECISION_MODEL_SHA256": model.model_digest,
            "DECISION_THREADS": str(compute.threads),
            "DECISION_CONTEXT_TOKENS": str(self._context_tokens(model)),
            "DECISION_PREFIXES": str(self.prefixes),
            **({} if compute.gpu_layers is None else {"DECISION_GPU_LAYERS": str(compute.gpu_layers)}),
        }

    def _context_tokens(self, model: PackagedModel) -> int:
        if self.context_tokens is not None:
            return self.context_tokens
        return min(_DEFAULT_CONTEXT_TOKENS, model.facts.context_length or _DEFAULT_CONTEXT_TOKENS)


def _context_complaints(context_tokens: int, trained_for: int | None) -> list[str]:
    if context_tokens < _FEWEST_CONTEXT_TOKENS:
        return [f"context_tokens is {context_tokens}: give at least {_FEWEST_CONTEXT_TOKENS}"]
    if trained_for is not None and context_tokens > trained_for:
        return [f"context_tokens is {context_tokens} and the model was trained for {trained_for}: give at most that"]
    return []
