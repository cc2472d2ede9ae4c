"""What lasts: the models, the means to package them and to build images, and the endpoint's log."""

from __future__ import annotations

from aws_cdk import Stack
from constructs import Construct

from decision_endpoints import AdapterImage, ArtifactStore, EndpointLogs, ModelPackage

from .environment import Environment


class ArtifactsStack(Stack):
    """The stateful stack. Only its names go to other stacks, never a digest: an export in use cannot change."""

    def __init__(self, scope: Construct, construct_id: str, *, environment: Environment) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Endpoint {environment.endpoint_name}: models, packaging, images and logs",
            termination_protection=environment.retain,
        )
        settings = environment.settings
        self.store = ArtifactStore(
            self,
            "Store",
            retain=environment.retain,
            # The local cloud deletes a bucket with all it holds.
            empty_first=not environment.local,
        )
        self.package = ModelPackage(
            self,
            "Package",
            source=settings.gguf(environment.root),
            store=self.store,
            archive=settings.model is not None and settings.model.archive,
        )
        base = settings.endpoint.image.base(settings.endpoint.target)
        self.image = AdapterImage(self, "Image", base=base, retain=environment.retain) if base else None
        self.logs = EndpointLogs(
            self, "EndpointLogs", endpoint_name=environment.endpoint_name, retain=environment.retain
        )
