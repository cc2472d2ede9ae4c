from __future__ import annotations

import pytest

from decision_endpoints import CheckoutImage, EcrImage, InvalidArguments
from tests.support.synth import ACCOUNT, IMAGE, REGION, new_stack


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        (IMAGE.partition("@")[0] + ":latest", "names a tag"),
        (IMAGE.partition("@")[0], "no image URI with a digest"),
        (IMAGE.replace("13c16f42", "13C16F42"), "upper-case"),
        (IMAGE[:-1], "no image URI with a digest"),
        (IMAGE.replace("@", ":v1@"), "no image URI with a digest"),
        (f"public.ecr.aws/deep-learning-containers/llama-cpp@sha256:{'a' * 64}", "not in private ECR"),
        (f"docker.io/library/python@sha256:{'a' * 64}", "not in private ECR"),
    ],
)
def test_anything_but_a_digest_in_private_ecr_is_refused_with_the_right_form(uri: str, reason: str) -> None:
    with pytest.raises(InvalidArguments, match=reason) as refused:
        EcrImage(uri)

    assert "@sha256:<64 lower-case hex digits>" in str(refused.value)


def test_an_image_of_another_region_is_refused_at_synth() -> None:
    with pytest.raises(InvalidArguments, match="the image is in eu-west-1 and the endpoint in us-east-1"):
        EcrImage(IMAGE.replace("us-east-1", "eu-west-1")).bind(new_stack())


def test_an_image_in_the_region_keeps_its_uri() -> None:
    assert EcrImage(IMAGE).bind(new_stack()).uri == IMAGE


def test_the_adapters_own_code_has_an_image_uri_that_sagemaker_would_take() -> None:
    uri = CheckoutImage().bind(new_stack()).uri

    assert uri.startswith(f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/decision-adapter@sha256:")
    EcrImage(uri)
