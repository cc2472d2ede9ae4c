"""A SageMaker endpoint that chats: AWS's own container for llama.cpp, as it is."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from constructs import Construct

from .compute import ALL_LAYERS, Compute
from .data_capture import DataCapture
from .endpoint_image import Image
from .endpoint_logs import EndpointLogs
from .fit import Load, cache_bytes, fit_complaints
from .hosted_endpoint import HostedEndpoint
from .hosting import Hosting
from .images import DlcImage, EcrImage
from .invocable_endpoint import InvocableEndpoint, NamedEndpoint
from .llama_server_settings import CACHE_BITS, LlamaServerSettings, variable
from .model_package import PackagedModel
from .network import Network
from .rollout import Rollout
from .scaling import Scaling
from .shadow import Shadow

_MODEL_FOLDER = "/opt/ml/model"
_DEFAULT_TOKENS = 4096
_FEWEST_TOKENS = 128
_MIB = 2**20


class ChatEndpoint(HostedEndpoint):
    """The stock container: ``InvokeEndpoint`` takes an OpenAI chat completion request.

    It answers no decisions and knows no digest: what it serves was verified in S3 before the endpoint exists, and its
    container has no network. When busy it lets requests wait, and SageMaker ends each after 60 seconds.

    Parameters
    ----------
    model, compute, logs, instance_count, startup_timeout, download_timeout, scaling, rollout, network:
        As in `DecisionEndpoint`.
    network_isolation, volume_gib, volume_key, data_capture, shadow:
        As in `DecisionEndpoint`.
    image:
        `DlcImage`, or an `EcrImage` that is a copy of it.
    settings:
        How llama-server runs. Default: one request at a time, with a context of 4096 tokens.

    Attributes
    ----------
    settings:
        As given.
    cfn_model, cfn_endpoint_config, cfn_endpoint, endpoint_name, role, …:
        As in `DecisionEndpoint`.

    Raises
    ------
    InvalidArguments
        As `DecisionEndpoint`, and if the image is the adapter's.

    Examples
    --------
    >>> chat = ChatEndpoint(
    ...     stack,
    ...     "Chat",
    ...     model=packaged_model,
    ...     image=DlcImage("cpu", digest="sha256:" + "1f19c220" * 8),
    ...     compute=CpuInstance("ml.c6i.xlarge"),
    ...     logs=EndpointLogs(stack, "ChatLogs", endpoint_name="chat-dev"),
    ...     settings=LlamaServerSettings(parallel=2, extra={"temp": "0.2"}),
    ... )
    >>> _ = chat.grant_invoke(application_role)

    Source: AWS Deep Learning Containers, llama.cpp for SageMaker AI; llama.cpp `tools/server/README.md`.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        model: PackagedModel,
        image: DlcImage | EcrImage,
        compute: Compute,
        logs: EndpointLogs,
        settings: LlamaServerSettings | None = None,
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
        self.settings = settings or LlamaServerSettings()
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
        super().__init__(scope, id, hosting, _LlamaServer(self.settings))

    @staticmethod
    def from_endpoint_name(scope: Construct, id: str, endpoint_name: str) -> InvocableEndpoint:
        """An endpoint of the stack's account and region that exists already: to ask it, and to watch it."""
        return NamedEndpoint(scope, id, endpoint_name=endpoint_name)


@dataclass(frozen=True, slots=True)
class _LlamaServer:
    """The stock container."""

    settings: LlamaServerSettings

    def complaints(self, model: PackagedModel, image: Image, compute: Compute) -> list[str]:
        complaints = []
        if not isinstance(image, DlcImage | EcrImage):
            found = f"the image is a {type(image).__name__}, which answers decisions and no chat"
            complaints.append(f"{found}: give a DlcImage or a copy of it, or take DecisionEndpoint")
        ctx_size, parallel = self._ctx_size(model), self.settings.parallel
        wrong = _ctx_complaints(ctx_size, parallel, model.facts.context_length)
        return [*complaints, *(wrong or self._fit_complaints(model, compute, ctx_size // parallel))]

    def environment(self, model: PackagedModel, compute: Compute) -> dict[str, str]:
        layers = {} if compute.gpu_layers is None else {variable("n-gpu-layers"): str(compute.gpu_layers)}
        return {
            # Named, or the first .gguf by name is served, which can be a shard of the middle or a projector.
            variable("model"): f"{_MODEL_FOLDER}/{model.files[0].name}",
            variable("threads"): str(compute.threads),
            **layers,
            **self.settings.environment(),
            variable("ctx-size"): str(self._ctx_size(model)),
        }

    def _ctx_size(self, model: PackagedModel) -> int:
        if self.settings.ctx_size is not None:
            return self.settings.ctx_size
        return min(_DEFAULT_TOKENS, model.facts.context_length or _DEFAULT_TOKENS) * self.settings.parallel

    def _fit_complaints(self, model: PackagedModel, compute: Compute, slot_tokens: int) -> list[str]:
        settings = self.settings
        context = cache_bytes(
            model.facts,
            sequences=settings.parallel,
            tokens=slot_tokens,
            key_bits=CACHE_BITS[settings.cache_type_k],
            value_bits=CACHE_BITS[settings.cache_type_v],
        )
        prompts = settings.cache_ram_mib * _MIB
        if compute.gpu_layers != ALL_LAYERS:
            load = Load(model_bytes=model.bytes, context_bytes=context + prompts, settings="ctx_size or cache_ram_mib")
            return fit_complaints(load, compute)
        load = Load(model_bytes=model.bytes, context_bytes=context, settings="ctx_size")
        smallest = min(compute.members, key=lambda member: member.memory_gib)
        # Half of the host, for the rest holds the system and the pages of the model's file.
        most = smallest.memory_gib * 1024 // 2
        found = f"cache_ram_mib is {settings.cache_ram_mib} and {smallest.name} has {smallest.memory_gib} GiB of memory"
        too_much = [f"{found}: give at most {most}"] if settings.cache_ram_mib > most else []
        return [*fit_complaints(load, compute), *too_much]


def _ctx_complaints(ctx_size: int, parallel: int, trained_for: int | None) -> list[str]:
    each = ctx_size // parallel
    found = f"ctx_size is {ctx_size} and parallel {parallel}, which gives each request {each} tokens"
    if each < _FEWEST_TOKENS:
        return [f"{found}: give at least {_FEWEST_TOKENS} for each"]
    if trained_for is not None and each > trained_for:
        return [f"{found}, and the model was trained for {trained_for}: give at most that for each"]
    return []
