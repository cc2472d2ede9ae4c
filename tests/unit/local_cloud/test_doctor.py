"""The doctor's checks ask the local cloud as they ask AWS."""

from __future__ import annotations

from pathlib import Path

from decision_client.doctor.bootstrap import check_bootstrap
from decision_client.doctor.credentials import check_credentials
from decision_client.doctor.finding import Status
from decision_client.place import Place
from local_cloud.running_cloud import RunningCloud
from tests.support.aws_clients import ClientFactory
from tests.support.cloud_assembly import stacks_of


def test_the_credentials_are_of_the_account_that_it_plays(
    cloud: RunningCloud, client: ClientFactory, tmp_path: Path
) -> None:
    stacks = stacks_of(tmp_path, {}, environment=f"aws://{cloud.account}/{cloud.region}")

    finding, _ = check_credentials(stacks, cloud.region, lambda service, region: client(service))

    assert finding.status is Status.OK


def test_a_bootstrap_is_missing_until_its_version_is_there(
    cloud: RunningCloud, client: ClientFactory, tmp_path: Path
) -> None:
    parameter = "/cdk-bootstrap/doctor/version"
    stacks = stacks_of(tmp_path, {}, parameter=parameter)
    place = Place(cloud.account, cloud.region)

    (before,) = check_bootstrap(stacks, place, lambda service, region: client(service))
    client("ssm").put_parameter(Name=parameter, Value="21", Type="String")
    (after,) = check_bootstrap(stacks, place, lambda service, region: client(service))

    assert (before.status, after.status) == (Status.MISSING, Status.OK)
