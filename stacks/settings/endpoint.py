"""The endpoint: what answers, on what, and how many of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from decision_endpoints import LlamaServerSettings
from decision_endpoints.endpoint_image import TARGETS, Target
from decision_endpoints.endpoint_logs import endpoint_name_complaint

from .compute import Compute
from .fleet import NetworkSettings, RolloutSettings, ScalingSettings
from .image import Image
from .section import Section, without_unset


class LlamaServer(Section):
    """How a chat endpoint's llama-server runs; `options` are further ones, by their long names without dashes."""

    parallel: int | None = None
    ctx_size: int | None = None
    n_predict: int | None = None
    options: dict[str, str] | None = None

    @model_validator(mode="after")
    def _starts(self) -> Self:
        self.settings()
        return self

    def settings(self) -> LlamaServerSettings:
        """As the endpoint takes them."""
        given: dict[str, Any] = without_unset(
            {"parallel": self.parallel, "ctx_size": self.ctx_size, "n_predict": self.n_predict, "extra": self.options}
        )
        return LlamaServerSettings(**given)


class Endpoint(Section):
    """The endpoint. It answers `decisions` with the adapter's image, or `chat` with AWS's llama.cpp container."""

    answers: Literal["decisions", "chat"] = "decisions"
    image: Image
    compute: Compute
    name: str | None = None
    context_tokens: int | None = None
    prefixes: int | None = None
    llama_server: LlamaServer | None = None
    instances: int | None = None
    scaling: ScalingSettings | None = None
    rollout: RolloutSettings | None = None
    network: NetworkSettings | None = None
    volume_gib: int | None = None
    # A duration cannot be below zero; what SageMaker takes of it, the endpoint knows.
    startup_seconds: Annotated[int, Field(ge=0)] = 600
    download_seconds: Annotated[int, Field(ge=0)] = 1200

    @model_validator(mode="after")
    def _has_a_name(self) -> Self:
        if self.name is not None and (complaint := endpoint_name_complaint("name", self.name)):
            raise ValueError(complaint)
        return self

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.answers == "chat":
            if misplaced := self.given("context_tokens", "prefixes"):
                raise ValueError(f"{' and '.join(misplaced)} cannot stand beside `answers: chat`: write llama_server")
            if self.image.build or self.image.checkout:
                raise ValueError("image is the adapter's, which answers no chat: give dlc, or ecr for a copy of it")
        else:
            if self.llama_server is not None:
                raise ValueError("llama_server is for `answers: chat`: leave it out")
            if self.image.dlc:
                raise ValueError("image.dlc answers chat and no decisions: give build, with it as the base")
        return self

    @property
    def target(self) -> Target:
        """What the image has to be for, as the compute says."""
        return TARGETS[self.compute.instance().kind]
