"""What can be replaced: the verified model and the endpoint that serves it."""

from __future__ import annotations

from aws_cdk import CfnOutput, Duration, Stack
from constructs import Construct

from decision_endpoints import DecisionEndpoint, PackagedModel

from .artifacts import ArtifactsStack
from .environment import Environment


class EndpointStack(Stack):
    """The replaceable stack: packages and verifies the model, and only then makes the endpoint."""

    def __init__(
        self, scope: Construct, construct_id: str, *, environment: Environment, artifacts: ArtifactsStack
    ) -> None:
        super().__init__(
            scope, construct_id, description=f"Decision endpoint {environment.name}: verified model and endpoint"
        )
        settings = environment.settings.endpoint
        self.model = PackagedModel(
            self,
            "Model",
            package=artifacts.package,
            # A build on this machine is over in seconds.
            query_interval=Duration.seconds(1) if environment.local else None,
        )
        self.endpoint = DecisionEndpoint(
            self,
            "Decisions",
            model=self.model,
            image=settings.container_image(),
            compute=settings.compute.instance(),
            logs=artifacts.logs,
            context_tokens=settings.context_tokens,
            instance_count=settings.instances,
            startup_timeout=Duration.seconds(settings.startup_seconds),
            download_timeout=Duration.seconds(settings.download_seconds),
        )
        CfnOutput(self, "EndpointName", value=self.endpoint.cfn_endpoint.attr_endpoint_name)
        CfnOutput(self, "ModelDigest", value=self.model.verified.digest)
        CfnOutput(self, "ModelS3Uri", value=self.model.s3_uri)
