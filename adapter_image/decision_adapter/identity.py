"""What a scorer is told, and what it then says of itself in every answer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from decision_adapter.decision import ModelIdentity
from decision_adapter.llama import Model
from decision_adapter.profile import Profile
from decision_provenance.digest import Digest


class ScorerSettings(Protocol):
    """What a scorer must be told; `decision_adapter.settings.Settings` says it."""

    @property
    def engine_dir(self) -> Path:
        """The directory of libllama and its back ends."""

    @property
    def model_name(self) -> str | None:
        """The name in answers; None for the stem of the model's file."""

    @property
    def threads(self) -> int | None:
        """Threads that evaluate; None for as many as this process gets processors."""

    @property
    def context_tokens(self) -> int:
        """The limit of one prompt in tokens."""

    @property
    def prefixes(self) -> int:
        """How many evaluated states are kept for reuse, at least 1."""

    @property
    def gpu_layers(self) -> int:
        """Layers to offload, 0 for none."""

    @property
    def profile(self) -> Path | None:
        """A file with the prompt's words; None for the built-in ones."""

    @property
    def max_options(self) -> int:
        """The most options a decision may have; the model's slots may allow fewer."""

    @property
    def temperature_choice(self) -> float | None:
        """Temperature of choices; None for the package's own."""

    @property
    def temperature_score(self) -> float | None:
        """Temperature of scores; None for the package's own."""

    @property
    def temperature_noul(self) -> float | None:
        """Temperature of nouls; None for the package's own."""


def identity_of(
    model: Model, settings: ScorerSettings, profile: Profile, digest: Digest, threads: int
) -> ModelIdentity:
    """Name, bytes, engine, device and words of what answers."""
    devices = model.library.devices
    used = [device for device in devices if device.is_gpu == bool(settings.gpu_layers)] or list(devices)
    return ModelIdentity(
        name=settings.model_name or model.path.stem,
        file=model.path.name,
        bytes=digest.bytes,
        sha256=digest.sha256,
        architecture=model.metadata("general.architecture") or "unknown",
        engine=f"llama.cpp {model.library.version}",
        backend=", ".join(dict.fromkeys(device.name for device in used)),
        device=", ".join(dict.fromkeys(device.description or device.name for device in used)),
        threads=threads,
        context_tokens=settings.context_tokens,
        gpu_layers=settings.gpu_layers,
        prompt_profile=profile.name,
        prompt_version=profile.version,
    )
