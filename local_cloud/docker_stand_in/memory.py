"""What one command leaves for the next: logins, and images that are built and not yet pushed."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from local_cloud.docker_stand_in.dockerfile import DockerRefused
from local_cloud.docker_stand_in.image import Image


class Memory:
    """Reads and writes one JSON file. The commands of a build run one after the other."""

    def __init__(self, file: Path) -> None:
        self._file = file
        content = json.loads(file.read_text()) if file.exists() else {"registries": [], "images": []}
        self._registries: set[str] = set(content["registries"])
        self._images = {image["reference"]: Image(**image) for image in content["images"]}

    def log_in(self, registry: str) -> None:
        """Remember that a registry was logged in to; the password is not kept."""
        self._registries.add(registry)
        self._write()

    def require_login(self, registry: str) -> None:
        """Refuse a registry that nobody logged in to."""
        if registry not in self._registries:
            raise DockerRefused(f"no basic auth credentials for {registry}: log in to it first")

    def keep(self, image: Image) -> None:
        """Remember an image under its reference."""
        self._images[image.reference] = image
        self._write()

    def image(self, reference: str) -> Image:
        """The image of a reference."""
        if reference not in self._images:
            raise DockerRefused(f"an image does not exist locally with the tag {reference}: build it first")
        return self._images[reference]

    def _write(self) -> None:
        images = [asdict(image) for image in self._images.values()]
        self._file.write_text(json.dumps({"registries": sorted(self._registries), "images": images}))
