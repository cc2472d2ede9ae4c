"""Whether the host image of a GPU variant is one that SageMaker knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import botocore
import botocore.session

from decision_client.doctor.finding import Finding, Status
from decision_client.doctor.fleet import Fleet

CHECK = "driver AMI"
_PAGE = "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_ProductionVariant.html"


def check_driver_amis(fleets: Sequence[Fleet]) -> Iterator[Finding]:
    """Compare each `InferenceAmiVersion` with the SageMaker API that is installed here."""
    used = dict.fromkeys(fleet.driver_ami for fleet in fleets if fleet.driver_ami)
    if not used:
        return
    known = known_amis()
    for name in used:
        if name in known:
            yield Finding(CHECK, name, Status.OK, "a host image of SageMaker")
            continue
        near = get_close_matches(name, known, n=1)
        hint = f"the nearest is {near[0]}" if near else f"it has {', '.join(known)}"
        sentence = f"the SageMaker API of botocore {botocore.__version__} has no such host image: {hint}"
        yield Finding(CHECK, name, Status.MISSING, f"{sentence}; if yours is newer, update boto3", _PAGE)


def known_amis() -> list[str]:
    """The values that the SageMaker API takes, by the description in botocore."""
    model = botocore.session.get_session().get_service_model("sagemaker")
    return [str(name) for name in getattr(model.shape_for("ProductionVariantInferenceAmiVersion"), "enum", [])]
