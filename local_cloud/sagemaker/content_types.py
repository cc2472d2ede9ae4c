"""Keep the content type of a container's answer: the emulator would replace it by SageMaker's own."""

from __future__ import annotations

from ministack import app as gateway  # type: ignore[import-untyped]

from local_cloud.sagemaker.runtime import VARIANT_HEADER


def install() -> None:
    """Exempt what a container answered from the emulator's correction of content types."""
    correct = gateway.fix_success_content_type

    def correct_unless_from_container(service: str, status: int, headers: dict[str, str]) -> None:
        if VARIANT_HEADER not in headers:
            correct(service, status, headers)

    gateway.fix_success_content_type = correct_unless_from_container
