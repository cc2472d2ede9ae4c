"""AWS CDK constructs for verified SageMaker AI endpoints that answer decisions.

A model travels `LocalGguf` → `ModelPackage` (into an `ArtifactStore`) → `PackagedModel` → `DecisionEndpoint`.
"""

from .artifact_store import ArtifactStore
from .build_run import BuildRun
from .compute import CpuInstance, GpuPool, GravitonInstance
from .endpoint import DecisionEndpoint
from .endpoint_logs import EndpointLogs
from .errors import InvalidArguments
from .images import CheckoutImage, DlcImage, EcrImage
from .model_package import ModelPackage, PackagedModel
from .sources import LocalGguf
from .verified_gguf import VerifiedGguf

__all__ = [
    "ArtifactStore",
    "BuildRun",
    "CheckoutImage",
    "CpuInstance",
    "DecisionEndpoint",
    "DlcImage",
    "EcrImage",
    "EndpointLogs",
    "GpuPool",
    "GravitonInstance",
    "InvalidArguments",
    "LocalGguf",
    "ModelPackage",
    "PackagedModel",
    "VerifiedGguf",
]
