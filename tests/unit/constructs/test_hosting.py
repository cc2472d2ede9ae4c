"""What cannot work is refused when the endpoint is made, everything in one message."""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_kms as kms

from decision_endpoints import (
    ChatEndpoint,
    CheckoutImage,
    CpuInstance,
    DecisionEndpoint,
    DlcImage,
    EcrImage,
    EndpointLogs,
    GpuPool,
    GravitonInstance,
    InvalidArguments,
    LlamaServerSettings,
    Rollout,
    Scaling,
    Shadow,
)
from tests.support.synth import DLC_IMAGE, IMAGE, endpoint, new_stack, packaged_model, source

CUDA_IMAGE = DlcImage("cuda", digest=f"sha256:{'9f2eb2d9' * 8}")


class Refusals:
    """The complaints of endpoints with these arguments, in one stack: none of them is ever made."""

    def __init__(self, stack: Stack, folder: Path, **pin: Any) -> None:
        self.stack = stack
        self.model = packaged_model(stack, source(folder, **pin))
        self._logs = EndpointLogs(stack, "Logs", endpoint_name="decisions-test")
        self._ids = count()

    def of(self, kind: type[DecisionEndpoint] | type[ChatEndpoint], **settings: Any) -> list[str]:
        image = CheckoutImage() if kind is DecisionEndpoint else DLC_IMAGE
        defaults: dict[str, Any] = {"model": self.model, "image": image, "compute": CpuInstance("ml.c6i.xlarge")}
        with pytest.raises(InvalidArguments) as refused:
            kind(self.stack, f"Refused{next(self._ids)}", logs=self._logs, **(defaults | settings))
        assert str(refused.value).startswith(f"{kind.__name__} Stack/Refused")
        return list(refused.value.complaints)

    def key(self) -> kms.IKey:
        return kms.Key.from_key_arn(
            self.stack,
            f"Key{next(self._ids)}",
            "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555",
        )


@pytest.fixture(scope="module")
def refusals(tmp_path_factory: pytest.TempPathFactory) -> Refusals:
    return Refusals(new_stack(), tmp_path_factory.mktemp("model"))


def _in_order(found: list[str], parts: list[str]) -> bool:
    return len(found) == len(parts) and all(part in text for part, text in zip(parts, found, strict=True))


def test_all_that_one_endpoint_cannot_have_is_said_in_one_message(refusals: Refusals) -> None:
    complaints = refusals.of(
        DecisionEndpoint,
        image=DLC_IMAGE,
        compute=GpuPool(["ml.g5.xlarge", "ml.g4dn.xlarge"]),
        context_tokens=4096,
        prefixes=0,
        instance_count=1,
        startup_timeout=Duration.seconds(59),
        download_timeout=Duration.seconds(3601),
        volume_gib=513,
        volume_key=refusals.key(),
        scaling=Scaling(min=2, max=4, weights={"ml.g5.xlrge": 2}),
        rollout=Rollout.rolling(),
        shadow=Shadow(compute=GpuPool(["ml.g6.xlarge"])),
    )

    assert _in_order(
        complaints,
        [
            "which answers chat and has no adapter",
            "context_tokens is 4096 and the model was trained for 2048",
            "prefixes is 0",
            "the image is for cpu and ml.g5.xlarge runs cuda images",
            "startup_timeout is 59 seconds",
            "download_timeout is 3601 seconds",
            "volume_gib is 513: give 1 to 512",
            "volume_gib is given and ml.g5.xlarge has local NVMe storage",
            "volume_key is given and ml.g5.xlarge has local NVMe storage",
            "instance_count is 1 and scaling goes from 2 to 4",
            "did you mean ml.g5.xlarge?",
            "Rollout.rolling is for endpoints of one variant",
            "compute is a pool of 2 types and there is a shadow",
            "the image is for cpu and ml.g6.xlarge runs cuda images",
        ],
    )


def test_a_pool_says_at_once_what_is_wrong_with_its_types_and_its_driver() -> None:
    with pytest.raises(InvalidArguments) as refused:
        GpuPool([*["ml.g5.xlarge"] * 5, "ml.g6.xlarge"], inference_ami_version="")

    assert _in_order(
        list(refused.value.complaints),
        ["6 types: give 1 to 5", "ml.g5.xlarge is there 5 times", "brings no GPU driver"],
    )


def test_a_pool_and_an_instance_type_cannot_be_given_together() -> None:
    # There is one `compute`; SageMaker's variant has a field for each, of which one stays empty.
    single, pool = CpuInstance("ml.c6i.xlarge"), GpuPool(["ml.g5.xlarge"])

    assert (single.instance_type is None, single.instance_pools is None) == (False, True)
    assert (pool.instance_type is None, pool.instance_pools is None) == (True, False)


def test_a_count_of_nothing_is_refused(refusals: Refusals) -> None:
    assert refusals.of(DecisionEndpoint, instance_count=0) == ["instance_count is 0: give at least 1"]


def test_a_volume_smaller_than_the_model_is_refused(tmp_path: Path) -> None:
    refusals = Refusals(new_stack(), tmp_path, path=tmp_path / "elsewhere.gguf", bytes=5 * 2**30)

    (complaint,) = refusals.of(DecisionEndpoint, volume_gib=4)
    assert complaint == "volume_gib is 4 and the model takes 5 GiB there: give more than that"


@pytest.mark.parametrize(
    ("image", "compute", "found"),
    [
        (DLC_IMAGE, GpuPool(["ml.g5.xlarge"]), "the image is for cpu and ml.g5.xlarge runs cuda images"),
        (CUDA_IMAGE, CpuInstance("ml.c6i.xlarge"), "the image is for cuda and ml.c6i.xlarge runs cpu images"),
        (DLC_IMAGE, GravitonInstance("ml.c8g.xlarge"), "the image is for cpu and ml.c8g.xlarge runs graviton images"),
    ],
)
def test_an_image_that_is_known_to_be_for_other_instances_is_refused(
    refusals: Refusals, image: DlcImage, compute: Any, found: str
) -> None:
    (complaint,) = refusals.of(ChatEndpoint, image=image, compute=compute)
    assert complaint.startswith(found)


def test_an_image_without_an_adapter_answers_no_decisions(refusals: Refusals) -> None:
    (complaint,) = refusals.of(DecisionEndpoint, image=DLC_IMAGE)
    assert complaint == (
        "the image is a DlcImage, which answers chat and has no adapter for decisions: "
        "give the image that is built on it, or take ChatEndpoint"
    )


def test_an_image_with_the_adapter_chats_with_nobody(refusals: Refusals) -> None:
    (complaint,) = refusals.of(ChatEndpoint, image=CheckoutImage())
    assert complaint.startswith("the image is a CheckoutImage, which answers decisions and no chat: give a DlcImage")


def test_a_shadow_that_does_not_fit_is_refused_too(refusals: Refusals) -> None:
    (complaint,) = refusals.of(
        DecisionEndpoint,
        image=EcrImage(IMAGE, architecture="x86_64"),
        shadow=Shadow(compute=GravitonInstance("ml.c8g.xlarge")),
    )
    assert complaint.startswith("the image is for x86_64 and ml.c8g.xlarge is arm64")


def test_two_endpoints_of_one_name_are_refused_before_the_second_is_built(tmp_path: Path) -> None:
    stack = new_stack()
    model = packaged_model(stack, source(tmp_path))
    first = endpoint(stack, source(tmp_path), model=model)

    with pytest.raises(InvalidArguments, match="logs carry the name of Stack/Endpoint, and names are unique"):
        DecisionEndpoint(
            stack,
            "Second",
            model=model,
            image=CheckoutImage(),
            compute=CpuInstance("ml.c6i.xlarge"),
            logs=first.logs,
        )


def test_more_alarms_than_sagemaker_watches_are_refused(refusals: Refusals) -> None:
    arn = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:Slow"
    alarms = [cloudwatch.Alarm.from_alarm_arn(refusals.stack, f"Alarm{n}", f"{arn}{n}") for n in range(11)]

    with pytest.raises(InvalidArguments, match="there are 11 alarms"):
        Rollout.all_at_once(alarms=alarms)


def test_an_environment_that_sagemaker_would_refuse_is_refused(refusals: Refusals) -> None:
    settings = LlamaServerSettings(extra={"grammar": "x" * 1025})

    (complaint,) = refusals.of(ChatEndpoint, settings=settings)
    assert (
        complaint == "the value of SM_LLAMA_CPP_GRAMMAR has 1025 characters: SageMaker allows 1024, give a shorter one"
    )
