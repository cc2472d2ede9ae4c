"""Which container answers."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from decision_endpoints import CheckoutImage, DlcImage, EcrImage
from decision_endpoints.endpoint_image import Target

from .section import Section, exactly_one_of


class Build(Section):
    """The adapter's image, built during the deploy on AWS's llama.cpp container of this digest."""

    base: str
    rebuild: str = ""
    registry_account: str | None = None


class Dlc(Section):
    """AWS's llama.cpp container as it is."""

    digest: str
    registry_account: str | None = None


class Image(Section):
    """Exactly one of the four. `checkout`: the adapter's own code, which only the local cloud hosts."""

    build: Build | None = None
    dlc: Dlc | None = None
    ecr: str | None = None
    checkout: Literal[True] | None = None

    @model_validator(mode="after")
    def _is_an_image(self) -> Self:
        exactly_one_of(self, "build", "dlc", "ecr", "checkout")
        # What is wrong with a digest does not depend on the target.
        for digest, account in [
            *([(self.build.base, self.build.registry_account)] if self.build else []),
            *([(self.dlc.digest, self.dlc.registry_account)] if self.dlc else []),
        ]:
            DlcImage("cpu", digest=digest, registry_account=account)
        if self.ecr is not None:
            EcrImage(self.ecr)
        return self

    def base(self, target: Target) -> DlcImage | None:
        """What the adapter's image is to be built on; None where it is there already."""
        if self.build is None:
            return None
        return DlcImage(target, digest=self.build.base, registry_account=self.build.registry_account)

    def adapter(self) -> CheckoutImage | EcrImage:
        """The adapter's image that is there already."""
        return CheckoutImage() if self.checkout else EcrImage(self.ecr or "")

    def stock(self, target: Target) -> DlcImage | EcrImage:
        """AWS's container, or a copy of it."""
        if self.dlc is None:
            return EcrImage(self.ecr or "")
        return DlcImage(target, digest=self.dlc.digest, registry_account=self.dlc.registry_account)
