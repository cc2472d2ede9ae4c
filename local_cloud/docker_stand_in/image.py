"""An image without layers: a configuration and a manifest, the same bytes for the same content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

MANIFEST_TYPE = "application/vnd.docker.distribution.manifest.v2+json"


@dataclass(frozen=True)
class Image:
    """What was built.

    The reference is part of the content: Docker gives the same sources another digest at each build, and a rebuild
    under another tag has to be a new image here too.
    """

    reference: str
    platform: str
    bases: Sequence[str]
    context_sha256: str

    @property
    def id(self) -> str:
        """The digest of the configuration, as Docker names an image."""
        return _digest(self._configuration)

    @property
    def manifest(self) -> str:
        """An image manifest of version 2, schema 2. Its layer is the context, which no registry has."""
        layers = [_descriptor("image.rootfs.diff.tar.gzip", f"sha256:{self.context_sha256}", 0)]
        config = _descriptor("container.image.v1+json", self.id, len(self._configuration))
        return json.dumps(
            {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": layers}, indent=2
        )

    @property
    def _configuration(self) -> bytes:
        system, _, architecture = self.platform.partition("/")
        labels = {
            "local-cloud": "made by the stand-in for docker: nobody can run it",
            "reference": self.reference,
            "bases": " ".join(self.bases),
            "context": self.context_sha256,
        }
        content = {"os": system, "architecture": architecture, "config": {"Labels": labels}}
        return json.dumps(content, sort_keys=True).encode()


def _descriptor(kind: str, digest: str, size: int) -> dict[str, str | int]:
    return {"mediaType": f"application/vnd.docker.{kind}", "size": size, "digest": digest}


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
