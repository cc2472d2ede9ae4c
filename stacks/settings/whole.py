"""The whole of an environment file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from decision_endpoints import QWEN3_5_4B, HuggingFaceGguf, LocalGguf, S3Gguf

from .alarms import Alarms
from .endpoint import Endpoint
from .model import Model
from .section import Section


class Settings(Section):
    """One environment.

    Without `account`: that of the credentials which deploy. Without `model`: AWS's sample, Qwen3.5-4B. `retain` keeps
    what is stateful when the stacks go; by default on AWS, not on the local cloud.
    """

    cloud: Literal["aws", "local"]
    account: Annotated[str, Field(pattern=r"^[0-9]{12}$")] | None = None
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$")]
    model: Model | None = None
    endpoint: Endpoint
    alarms: Alarms = Alarms()
    retain: bool | None = None

    @model_validator(mode="after")
    def _suits_its_cloud(self) -> Self:
        if self.cloud == "aws" and self.endpoint.image.checkout:
            raise ValueError("endpoint.image is checkout, which only the local cloud hosts: give build or ecr")
        return self

    def gguf(self, root: Path) -> HuggingFaceGguf | LocalGguf | S3Gguf:
        """The model's pin."""
        return QWEN3_5_4B if self.model is None else self.model.gguf(root)
