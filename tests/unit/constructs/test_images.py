from __future__ import annotations

from typing import Literal

import pytest
from aws_cdk import App, Environment, Stack

from decision_endpoints import CheckoutImage, DlcImage, EcrImage, InvalidArguments
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
        (IMAGE.replace(ACCOUNT, "١٢٣٤٥٦٧٨٩٠١٢"), "no image URI with a digest"),
        (IMAGE.replace(".com/", ".com.cn/"), "no image URI with a digest"),
        (IMAGE.replace(REGION, "cn-north-1"), "no image URI with a digest"),
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


DIGEST = f"sha256:{'1f19c220' * 8}"


def _in(region: str) -> Stack:
    return Stack(App(), "Stack", env=Environment(account=ACCOUNT, region=region))


@pytest.mark.parametrize(
    ("target", "region", "uri", "architecture"),
    [
        ("cpu", "us-east-1", "763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp", "x86_64"),
        ("cuda", "eu-south-2", "503227376785.dkr.ecr.eu-south-2.amazonaws.com/llama-cpp", "x86_64"),
        ("graviton", "cn-north-1", "727897471807.dkr.ecr.cn-north-1.amazonaws.com.cn/llama-cpp-arm64", "arm64"),
    ],
)
def test_a_dlc_image_comes_from_the_registry_of_the_region(
    target: Literal["cpu", "cuda", "graviton"], region: str, uri: str, architecture: str
) -> None:
    image = DlcImage(target, digest=DIGEST).bind(_in(region))

    assert (image.uri, image.architecture) == (f"{uri}@{DIGEST}", architecture)
    EcrImage(image.uri)


@pytest.mark.parametrize("region", ["mx-central-1", "us-nowhere-9"])
def test_a_region_without_a_known_registry_is_refused_unless_the_account_is_given(region: str) -> None:
    with pytest.raises(InvalidArguments, match=f"no registry of Deep Learning Containers in {region}: give registry_"):
        DlcImage("cpu", digest=DIGEST).bind(_in(region))

    assert (
        f"{ACCOUNT}.dkr.ecr.{region}." in DlcImage("cpu", digest=DIGEST, registry_account=ACCOUNT).bind(_in(region)).uri
    )


def test_a_stack_without_a_region_is_refused_unless_the_account_is_given() -> None:
    with pytest.raises(InvalidArguments, match="give the stack an env with a region, or give registry_account"):
        DlcImage("cpu", digest=DIGEST).bind(Stack(App(), "Stack"))

    assert DlcImage("cpu", digest=DIGEST, registry_account=ACCOUNT).bind(Stack(App(), "Stack")).uri.startswith(ACCOUNT)


@pytest.mark.parametrize("digest", ["server-sagemaker-cpu-v1", "1f19c220" * 8, DIGEST.upper(), DIGEST[:-1], ""])
def test_a_dlc_image_is_a_digest(digest: str) -> None:
    with pytest.raises(InvalidArguments, match="give sha256:<64 lower-case hex digits>, for tags move"):
        DlcImage("cpu", digest=digest)


def test_all_that_is_wrong_with_an_image_is_said_in_one_message() -> None:
    with pytest.raises(InvalidArguments) as dlc:
        DlcImage("gravitn", digest="v1", registry_account="1234")  # type: ignore[arg-type]
    with pytest.raises(InvalidArguments) as ecr:
        EcrImage("python:3", architecture="arm")  # type: ignore[arg-type]

    assert [complaint.split()[0] for complaint in dlc.value.complaints] == ["target", "digest", "registry_account"]
    assert "did you mean graviton?" in dlc.value.complaints[0]
    assert len(ecr.value.complaints) == 2
