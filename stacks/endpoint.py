"""What can be replaced: the verified model, the image, the endpoint that serves it, and who is told about it."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Duration, Fn, Stack
from constructs import Construct

from decision_endpoints import (
    AlarmTopic,
    BuiltImage,
    ChatEndpoint,
    DecisionEndpoint,
    EndpointAlarms,
    EndpointDashboard,
    PackagedModel,
)

from .artifacts import ArtifactsStack
from .environment import Environment
from .outputs import invoke_command
from .settings import Endpoint
from .settings.section import without_unset

# A build on this machine is over in seconds.
_LOCAL_QUERY_INTERVAL = Duration.seconds(1)


class EndpointStack(Stack):
    """The replaceable stack: packages and verifies the model, builds the image, and only then makes the endpoint."""

    def __init__(
        self, scope: Construct, construct_id: str, *, environment: Environment, artifacts: ArtifactsStack
    ) -> None:
        super().__init__(
            scope,
            construct_id,
            description=f"Endpoint {environment.endpoint_name}: verified model, image, endpoint and alarms",
        )
        settings = environment.settings
        self._query_interval = _LOCAL_QUERY_INTERVAL if environment.local else None
        self.model = PackagedModel(self, "Model", package=artifacts.package, query_interval=self._query_interval)
        self.endpoint = (
            self._decisions(settings.endpoint, artifacts)
            if settings.endpoint.answers == "decisions"
            else self._chat(settings.endpoint, artifacts)
        )
        self.topic = AlarmTopic(self, "AlarmTopic", emails=settings.alarms.emails or ())
        self.alarms = EndpointAlarms(
            self,
            "Alarms",
            endpoint=self.endpoint,
            topic=self.topic.topic,
            thresholds=settings.alarms.alarm_thresholds(),
        )
        if settings.endpoint.rollout is not None:
            self.endpoint.roll_back_on(*self.alarms.rollback_alarms)
        self.dashboard = EndpointDashboard(self, "Dashboard", endpoint=self.endpoint, alarms=self.alarms)
        self._say(settings.endpoint.answers)

    def _decisions(self, settings: Endpoint, artifacts: ArtifactsStack) -> DecisionEndpoint:
        image = (
            BuiltImage(
                self,
                "Image",
                image=artifacts.image,
                rebuild=settings.image.build.rebuild,
                query_interval=self._query_interval,
            )
            if artifacts.image and settings.image.build
            else settings.image.adapter()
        )
        adapter: dict[str, Any] = without_unset(
            {"context_tokens": settings.context_tokens, "prefixes": settings.prefixes}
        )
        return DecisionEndpoint(self, "Decisions", image=image, **adapter, **self._hosting(settings, artifacts))

    def _chat(self, settings: Endpoint, artifacts: ArtifactsStack) -> ChatEndpoint:
        return ChatEndpoint(
            self,
            "Chat",
            image=settings.image.stock(settings.target),
            settings=settings.llama_server.settings() if settings.llama_server else None,
            **self._hosting(settings, artifacts),
        )

    def _hosting(self, settings: Endpoint, artifacts: ArtifactsStack) -> dict[str, Any]:
        """The arguments that both kinds of endpoint take."""
        return {
            "model": self.model,
            "compute": settings.compute.instance(),
            "logs": artifacts.logs,
            "instance_count": settings.instances,
            "startup_timeout": Duration.seconds(settings.startup_seconds),
            "download_timeout": Duration.seconds(settings.download_seconds),
            "scaling": settings.scaling and settings.scaling.scaling(),
            "rollout": settings.rollout and settings.rollout.rollout(),
            "network": settings.network and settings.network.network(self),
            "volume_gib": settings.volume_gib,
        }

    def _say(self, answers: str) -> None:
        image_uri = self.endpoint.image_uri
        for name, value in {
            "EndpointName": self.endpoint.cfn_endpoint.attr_endpoint_name,
            "InvokeCommand": invoke_command(self.endpoint.endpoint_name, self.region, answers=answers),
            "DashboardUrl": self.dashboard.url,
            "ModelDigest": self.model.verified.digest,
            "ModelS3Uri": self.model.s3_uri,
            "ImageDigest": Fn.select(1, Fn.split("@", image_uri)),
        }.items():
            CfnOutput(self, name, value=value)
