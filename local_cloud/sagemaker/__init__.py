"""SageMaker of the local cloud: models, endpoint configurations, and endpoints whose adapter really runs here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from local_cloud import ministack_seams
from local_cloud.sagemaker import api, cloudformation, control_plane
from local_cloud.sagemaker.baking import bake_cap
from local_cloud.sagemaker.runtime import VARIANT_HEADER
from local_cloud.sagemaker.startup_cap import startup_cap


def install() -> None:
    """Register the API, the runtime and the CloudFormation types with the emulator."""
    startup_cap()  # a bad setting ends the emulator now, not the first endpoint later
    bake_cap()
    ministack_seams.register_api(
        "sagemaker", target_prefix=api.TARGET_PREFIX, credential_scope="sagemaker", handler=api.handle
    )
    ministack_seams.keep_content_type(VARIANT_HEADER)
    cloudformation.install()


def reset() -> None:
    """Stop all instances, without waiting for requests in flight, and forget everything. Blocks until they are gone."""
    control_plane.models.clear()
    control_plane.endpoint_configs.clear()
    endpoints = control_plane.endpoints.clear()
    if endpoints:
        with ThreadPoolExecutor(len(endpoints)) as each:
            list(each.map(lambda endpoint: endpoint.abandon(), endpoints))


def endpoint_exists(name: str) -> bool:
    """Whether the account and region of the current request have an endpoint of this name."""
    return control_plane.endpoints.find(name) is not None
