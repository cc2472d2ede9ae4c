"""What the endpoint runs on."""

from __future__ import annotations

from typing import Any, Self

from pydantic import model_validator

from decision_endpoints import CpuInstance, GpuPool, GravitonInstance

from .section import Section, exactly_one_of, without_unset


class Compute(Section):
    """Exactly one of `cpu`, `graviton` and `gpu`, a list of types, the first choice first.

    Without `threads`: the instance's physical cores. Without `gpu_layers`: all.
    """

    cpu: str | None = None
    graviton: str | None = None
    gpu: list[str] | None = None
    threads: int | None = None
    gpu_layers: int | None = None
    inference_ami: str | None = None

    @model_validator(mode="after")
    def _is_in_the_catalog(self) -> Self:
        self.instance()
        return self

    def instance(self) -> CpuInstance | GravitonInstance | GpuPool:
        """The instance, or the pool of them."""
        kind = exactly_one_of(self, "cpu", "graviton", "gpu")
        misplaced = self.given("threads") if kind == "gpu" else self.given("gpu_layers", "inference_ami")
        if misplaced:
            allowed = "a gpu pool takes the cores of its smallest type" if kind == "gpu" else "they are for gpu"
            raise ValueError(f"{' and '.join(misplaced)} cannot stand beside {kind}: {allowed}")
        if self.gpu is not None:
            pool: dict[str, Any] = without_unset(
                {"gpu_layers": self.gpu_layers, "inference_ami_version": self.inference_ami}
            )
            return GpuPool(self.gpu, **pool)
        if self.graviton is not None:
            return GravitonInstance(self.graviton, threads=self.threads)
        return CpuInstance(str(self.cpu), threads=self.threads)
