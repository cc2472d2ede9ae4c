"""One environment: two stacks, in the order they are deployed."""

from __future__ import annotations

from aws_cdk import Environment as AwsEnvironment
from aws_cdk import Stage
from constructs import Construct

from .artifacts import ArtifactsStack
from .endpoint import EndpointStack
from .environment import Environment


class EnvironmentStage(Stage):
    """The stacks of one environment, ``<name>/Artifacts`` and ``<name>/Endpoint``."""

    def __init__(self, scope: Construct, environment: Environment) -> None:
        settings = environment.settings
        super().__init__(scope, environment.name, env=AwsEnvironment(account=settings.account, region=settings.region))
        self.artifacts = ArtifactsStack(self, "Artifacts", environment=environment)
        self.endpoint = EndpointStack(self, "Endpoint", environment=environment, artifacts=self.artifacts)
