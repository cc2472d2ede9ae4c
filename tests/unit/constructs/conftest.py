"""Templates that are made once: most promises can be read from one of them."""

from __future__ import annotations

import pytest
from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from decision_endpoints import CpuInstance, DataCapture, GpuPool, LlamaServerSettings, Network, Rollout, Scaling, Shadow
from tests.support.synth import chat_endpoint, endpoint, new_stack, source


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Template:
    stack = new_stack()
    endpoint(stack, source(tmp_path_factory.mktemp("model")))
    return Template.from_stack(stack)


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """An endpoint with every option on that goes together."""
    stack = new_stack("Everything")
    key = kms.Key(stack, "Key")
    endpoint(
        stack,
        source(tmp_path_factory.mktemp("model")),
        scaling=Scaling(min=2, max=4),
        rollout=Rollout.canary(
            bake=Duration.minutes(15),
            termination_wait=Duration.minutes(5),
            timeout=Duration.hours(1),
            alarms=[_alarm(stack, "Alarm")],
        ),
        network=Network(vpc=ec2.Vpc(stack, "Vpc", max_azs=2)),
        volume_gib=30,
        volume_key=key,
        data_capture=DataCapture(bucket=s3.Bucket(stack, "Captured", encryption_key=key), prefix="captured"),
        shadow=Shadow(compute=CpuInstance("ml.c7i.xlarge"), percentage=20),
    )
    return Template.from_stack(stack)


@pytest.fixture(scope="session")
def gpu_pool(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """An endpoint on mixed types, which are updated batch by batch; an alarm was added after it was made."""
    stack = new_stack("Pool")
    made = endpoint(
        stack,
        source(tmp_path_factory.mktemp("model")),
        compute=GpuPool(["ml.g6e.xlarge", "ml.g5.xlarge"]),
        scaling=Scaling(min=2, max=4, weights={"ml.g6e.xlarge": 2.5}),
        rollout=Rollout.rolling(alarms=[_alarm(stack, "Alarm")]),
    )
    made.roll_back_on(_alarm(stack, "Later"))
    return Template.from_stack(stack)


@pytest.fixture(scope="session")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Template:
    """A chat endpoint."""
    stack = new_stack("Chat")
    settings = LlamaServerSettings(parallel=2, extra={"temp": "0.2", "no-warmup": "true"})
    chat_endpoint(stack, source(tmp_path_factory.mktemp("model")), settings=settings)
    return Template.from_stack(stack)


def _alarm(stack: Stack, id: str) -> cloudwatch.Alarm:
    metric = cloudwatch.Metric(namespace="Test", metric_name="Test")
    return cloudwatch.Alarm(stack, id, metric=metric, threshold=1, evaluation_periods=1)
