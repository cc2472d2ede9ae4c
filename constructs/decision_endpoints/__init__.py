"""AWS CDK constructs for verified SageMaker AI endpoints that answer decisions.

A model travels from its source, such as `HuggingFaceGguf`, → `ModelPackage` (into an `ArtifactStore`) → `PackagedModel`
→ `DecisionEndpoint`, which runs the image of `AdapterImage` → `BuiltImage`.
"""

from .adapter_image import AdapterImage, BuiltImage
from .alarm_thresholds import AlarmThresholds
from .alarm_topic import AlarmTopic
from .alarms import EndpointAlarms
from .artifact_store import ArtifactStore
from .build_run import BuildRun, ImageResult, PackageResult
from .chat_endpoint import ChatEndpoint
from .compute import CpuInstance, GpuPool, GravitonInstance
from .dashboard import EndpointDashboard
from .data_capture import DataCapture
from .endpoint import DecisionEndpoint
from .endpoint_logs import EndpointLogs
from .endpoint_metrics import EndpointMetrics
from .errors import InvalidArguments
from .images import CheckoutImage, DlcImage, EcrImage
from .llama_server_settings import LlamaServerSettings
from .model_package import ModelPackage, PackagedModel
from .network import Network
from .rollout import Rollout
from .scaling import Scaling
from .shadow import Shadow
from .sources import QWEN3_5_4B, HuggingFaceGguf, HuggingFaceTokenizer, LocalGguf, S3Gguf
from .verified_gguf import VerifiedGguf

__all__ = [
    "QWEN3_5_4B",
    "AdapterImage",
    "AlarmThresholds",
    "AlarmTopic",
    "ArtifactStore",
    "BuildRun",
    "BuiltImage",
    "ChatEndpoint",
    "CheckoutImage",
    "CpuInstance",
    "DataCapture",
    "DecisionEndpoint",
    "DlcImage",
    "EcrImage",
    "EndpointAlarms",
    "EndpointDashboard",
    "EndpointLogs",
    "EndpointMetrics",
    "GpuPool",
    "GravitonInstance",
    "HuggingFaceGguf",
    "HuggingFaceTokenizer",
    "ImageResult",
    "InvalidArguments",
    "LlamaServerSettings",
    "LocalGguf",
    "ModelPackage",
    "Network",
    "PackageResult",
    "PackagedModel",
    "Rollout",
    "S3Gguf",
    "Scaling",
    "Shadow",
    "VerifiedGguf",
]
