from __future__ import annotations

from typing import Any

import pytest
from aws_cdk.assertions import Template

from decision_endpoints import InvalidArguments, Shadow
from tests.support.synth import resources


def _config(template: Template) -> dict[str, Any]:
    (config,) = resources(template, "AWS::SageMaker::EndpointConfig")
    return dict(config["Properties"])


def test_a_shadow_gets_its_share_relative_to_production(everything: Template) -> None:
    config = _config(everything)
    (main,), (shadow,) = config["ProductionVariants"], config["ShadowProductionVariants"]

    assert (main["VariantName"], main["InitialVariantWeight"]) == ("main", 1)
    assert (shadow["VariantName"], shadow["InitialVariantWeight"]) == ("shadow", 0.2)


def test_a_shadow_is_a_model_of_its_own_with_settings_of_its_own(everything: Template) -> None:
    config = _config(everything)
    (main,), (shadow,) = config["ProductionVariants"], config["ShadowProductionVariants"]

    assert main["ModelName"] != shadow["ModelName"]
    assert (main["InstanceType"], shadow["InstanceType"]) == ("ml.c6i.xlarge", "ml.c7i.xlarge")


def test_a_shadow_of_nothing_is_refused() -> None:
    with pytest.raises(InvalidArguments) as refused:
        Shadow(instance_count=0, percentage=101)

    found = ["are all as in production", "instance_count is 0", "percentage is 101: give 1 to 100"]
    assert len(refused.value.complaints) == len(found)
    assert all(part in complaint for part, complaint in zip(found, refused.value.complaints, strict=True))
