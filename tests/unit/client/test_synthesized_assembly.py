"""What the constructs synthesize is read as it is meant: fleets, images, builds and files."""

from __future__ import annotations

from pathlib import Path

import pytest
from aws_cdk import App, Environment, Stage
from aws_cdk import Stack as CdkStack

from decision_client.assembly import Stack, read_assembly, select
from decision_client.builds.request import PackagePlace, build_requests
from decision_client.doctor.app_files import check_app, check_files
from decision_client.doctor.finding import worst
from decision_client.doctor.fleet import fleets_of
from decision_client.doctor.image_uris import EcrUri, image_uris
from decision_client.place import Place
from decision_endpoints import (
    AdapterImage,
    ArtifactStore,
    BuiltImage,
    DecisionEndpoint,
    DlcImage,
    EndpointLogs,
    GpuPool,
    ModelPackage,
    PackagedModel,
    Rollout,
    Scaling,
)
from decision_provenance.manifest import MANIFEST_NAME
from tests.support.stub_aws import StubAws
from tests.support.synth import ACCOUNT, REGION, new_app, source

PLACE = Place(ACCOUNT, REGION)
CUDA = DlcImage("cuda", digest=f"sha256:{'9f2eb2d9' * 8}")


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> list[Stack]:
    app: App = new_app()
    stage = Stage(app, "dev", env=Environment(account=ACCOUNT, region=REGION))
    artifacts, serving = CdkStack(stage, "Artifacts"), CdkStack(stage, "Endpoint")
    pin = source(tmp_path_factory.mktemp("model"))
    package = ModelPackage(artifacts, "Package", source=pin, store=ArtifactStore(artifacts, "Store"))
    DecisionEndpoint(
        serving,
        "Endpoint",
        model=PackagedModel(serving, "Model", package=package),
        image=BuiltImage(serving, "Image", image=AdapterImage(artifacts, "AdapterImage", base=CUDA)),
        compute=GpuPool(["ml.g6e.xlarge", "ml.g5.2xlarge"]),
        logs=EndpointLogs(artifacts, "Logs", endpoint_name="decisions-dev"),
        instance_count=2,
        scaling=Scaling(min=2, max=6),
        rollout=Rollout.all_at_once(),
    )
    return select(read_assembly(Path(app.synth().directory)), "dev")


def test_a_pool_with_scaling_needs_twice_its_most_instances(stacks: list[Stack]) -> None:
    (fleet,) = fleets_of(stacks, PLACE)

    assert (fleet.endpoint, fleet.types, fleet.initial, fleet.needed) == (
        "decisions-dev",
        ("ml.g6e.xlarge", "ml.g5.2xlarge"),
        2,
        12,
    )


def test_of_an_image_that_the_deploy_builds_the_base_is_found(stacks: list[Stack]) -> None:
    found = {image for stack in stacks for image in image_uris(stack, PLACE)}

    assert {image.repository for image in found if isinstance(image, EcrUri)} == {"llama-cpp"}


def test_the_packaging_build_is_told_what_the_deploy_would_tell_it(stacks: list[Stack]) -> None:
    # Each export's value is its own name.
    imported = [
        reference
        for stack in stacks
        for resource in stack.of_type("Custom::BuildRun")
        for value in resource.properties.values()
        if isinstance(value, dict) and (reference := value.get("Fn::ImportValue"))
    ]
    aws = StubAws(ListExports={"Exports": [{"Name": name, "Value": name} for name in imported]})

    (request,) = build_requests(stacks, PLACE, aws, images=False)

    assert isinstance(request.result, PackagePlace)
    assert request.result.key.endswith(f"/{MANIFEST_NAME}")
    assert set(request.environment) >= {"MODEL_NAME", "PIN", "SOURCE"}


def test_its_files_are_there_and_the_app_has_no_complaint(stacks: list[Stack]) -> None:
    findings = [*check_app(stacks), *check_files(stacks)]

    assert worst(findings).value == "ok", findings
