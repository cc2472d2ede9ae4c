"""Each check of `decisions doctor`: ok where it is there, missing where not, unknown where AWS does not say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError, NoCredentialsError

from decision_client.doctor.app_files import check_app, check_files
from decision_client.doctor.bootstrap import check_bootstrap
from decision_client.doctor.credentials import Identity, check_credentials
from decision_client.doctor.driver_ami import check_driver_amis
from decision_client.doctor.examination import NoRegion, examine
from decision_client.doctor.finding import Finding, Status
from decision_client.doctor.fleet import fleets_of
from decision_client.doctor.images import check_images
from decision_client.doctor.offerings import check_offerings
from decision_client.doctor.permissions import check_permissions
from decision_client.doctor.quota_list import read_quotas
from decision_client.doctor.quotas import check_quotas
from decision_client.place import Place
from tests.support.cloud_assembly import ACCOUNT, AMI, DIGEST, build_run, endpoint, stacks_of
from tests.support.stub_aws import DENIED, THROTTLED, Refused, StubAws

PLACE = Place(ACCOUNT, "us-east-1")
ROLE = f"arn:aws:iam::{ACCOUNT}:role/aws-reserved/sso.amazonaws.com/Deployer"
IDENTITY = Identity(ACCOUNT, f"arn:aws:sts::{ACCOUNT}:assumed-role/Deployer/me@example.com")
UNREACHED = EndpointConnectionError(endpoint_url="https://aws")


def statuses(findings: Iterator[Finding] | list[Finding]) -> dict[str, str]:
    return {finding.subject: finding.status.value for finding in findings}


def quota(name: str, value: float, code: str = "L-1") -> dict[str, Any]:
    return {"QuotaName": f"{name} for endpoint usage", "QuotaCode": code, "Value": value}


# Credentials


def test_credentials_of_the_stacks_account_are_ok(tmp_path: Path) -> None:
    aws = StubAws(GetCallerIdentity={"Account": ACCOUNT, "Arn": IDENTITY.arn})

    finding, identity = check_credentials(stacks_of(tmp_path, {}), "us-east-1", aws)

    assert (finding.status, identity) == (Status.OK, IDENTITY)


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        ({"Account": "210987654321", "Arn": "arn:x"}, Status.MISSING, "the stacks go to 123456789012"),
        (NoCredentialsError(), Status.MISSING, "aws sso login"),
        (Refused("ExpiredToken", 403), Status.MISSING, "aws sso login"),
        (THROTTLED, Status.UNKNOWN, "throttled"),
        (UNREACHED, Status.UNKNOWN, "sts:GetCallerIdentity failed"),
    ],
)
def test_other_credentials_are_never_ok(tmp_path: Path, answer: Any, status: Status, sentence: str) -> None:
    finding, identity = check_credentials(stacks_of(tmp_path, {}), "us-east-1", StubAws(GetCallerIdentity=answer))

    assert (finding.status, identity) == (status, None)
    assert sentence in finding.sentence


def test_without_credentials_no_other_answer_of_aws_is_taken(tmp_path: Path) -> None:
    aws = StubAws(GetCallerIdentity=NoCredentialsError())

    found = list(examine(stacks_of(tmp_path, endpoint("ml.c6i.xlarge")), region=None, clients=aws))

    assert {finding.check for finding in found if finding.status is Status.UNKNOWN} == {
        "bootstrap",
        "quota",
        "instance type",
        "image",
        "permissions",
    }
    assert [name for name, _ in aws.calls] == ["GetCallerIdentity"]


def test_stacks_without_a_region_need_one_named(tmp_path: Path) -> None:
    stacks = stacks_of(tmp_path, {}, environment="aws://unknown-account/unknown-region")

    with pytest.raises(NoRegion, match="--region"):
        list(examine(stacks, region=None, clients=StubAws()))


# Bootstrap


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        ({"Parameter": {"Value": "21"}}, Status.OK, "version 21, 6 is needed"),
        ({"Parameter": {"Value": "5"}}, Status.MISSING, "`cdk bootstrap aws://123456789012/us-east-1`"),
        (Refused("ParameterNotFound"), Status.MISSING, "`cdk bootstrap aws://123456789012/us-east-1`"),
        ({"Parameter": {"Value": "x"}}, Status.UNKNOWN, "is no version"),
        (DENIED, Status.UNKNOWN, "may not call ssm:GetParameter"),
        (THROTTLED, Status.UNKNOWN, "throttled"),
    ],
)
def test_the_bootstrap_version_is_compared(tmp_path: Path, answer: Any, status: Status, sentence: str) -> None:
    (finding,) = check_bootstrap(stacks_of(tmp_path, {}), PLACE, StubAws(GetParameter=answer))

    assert finding.status is status
    assert sentence in finding.sentence


def test_another_qualifier_is_bootstrapped_with_its_own_stack(tmp_path: Path) -> None:
    stacks = stacks_of(tmp_path, {}, parameter="/cdk-bootstrap/team/version")

    (finding,) = check_bootstrap(stacks, PLACE, StubAws(GetParameter=Refused("ParameterNotFound")))

    assert "--qualifier team --toolkit-stack-name CDKToolkit-team" in finding.sentence


def test_a_stack_that_needs_no_bootstrap_has_no_finding(tmp_path: Path) -> None:
    assert list(check_bootstrap(stacks_of(tmp_path, {}, parameter=None), PLACE, StubAws())) == []


# Fleets and quotas

ROLLING = {"RollingUpdatePolicy": {"MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 50}}}
ONE_BY_ONE = {"RollingUpdatePolicy": {"MaximumBatchSize": {"Type": "INSTANCE_COUNT", "Value": 1}}}
CANARY = {"BlueGreenUpdatePolicy": {"TrafficRoutingConfiguration": {"Type": "CANARY"}}}


@pytest.mark.parametrize(
    ("changes", "needed"),
    [
        ({}, 2),
        ({"count": 3}, 6),
        ({"count": 3, "deployment": CANARY}, 6),
        ({"count": 3, "deployment": ROLLING}, 5),
        ({"count": 3, "deployment": ONE_BY_ONE}, 4),
        ({"count": 2, "most": 5}, 10),
        ({"count": 2, "most": 5, "deployment": ONE_BY_ONE}, 6),
    ],
)
def test_a_fleet_needs_its_most_instances_and_what_an_update_adds(
    tmp_path: Path, changes: dict[str, Any], needed: int
) -> None:
    (fleet,) = fleets_of(stacks_of(tmp_path, endpoint("ml.c6i.xlarge", **changes)), PLACE)

    assert fleet.needed == needed


def test_enough_quota_is_ok(tmp_path: Path) -> None:
    fleets = fleets_of(stacks_of(tmp_path, endpoint("ml.g6e.xlarge")), PLACE)
    aws = StubAws(ListServiceQuotas={"Quotas": [quota("ml.g6e.xlarge", 2)]})

    (finding,) = check_quotas(fleets, read_quotas(PLACE, {"ml.g6e.xlarge"}, aws), PLACE)

    assert finding.status is Status.OK


@pytest.mark.parametrize(("value", "sentence"), [(1, "enough to create it and not for more"), (0, "too few to create")])
def test_too_little_quota_is_missing_with_the_page_of_that_quota(tmp_path: Path, value: float, sentence: str) -> None:
    fleets = fleets_of(stacks_of(tmp_path, endpoint("ml.g6e.xlarge")), PLACE)
    aws = StubAws(ListServiceQuotas={"Quotas": [quota("ml.g6e.xlarge", value, "L-ABC")]})

    (finding,) = check_quotas(fleets, read_quotas(PLACE, {"ml.g6e.xlarge"}, aws), PLACE)

    assert (finding.status, finding.link) == (
        Status.MISSING,
        "https://us-east-1.console.aws.amazon.com/servicequotas/home/services/sagemaker/quotas/L-ABC?region=us-east-1",
    )
    assert sentence in finding.sentence
    assert "ask for 2" in finding.sentence


def test_each_member_of_a_pool_has_its_own_quota_from_any_page_or_the_defaults(tmp_path: Path) -> None:
    types = ("ml.g6e.xlarge", "ml.g6.xlarge", "ml.g5.xlarge", "ml.g4dn.xlarge")
    fleets = fleets_of(stacks_of(tmp_path, endpoint(*types)), PLACE)
    aws = StubAws(
        ListServiceQuotas=[
            {"Quotas": [quota("ml.g6e.xlarge", 2), quota("ml.other.xlarge", 9)], "NextToken": "more"},
            {"Quotas": [quota("ml.g6.xlarge", 0)]},
        ],
        ListAWSDefaultServiceQuotas={"Quotas": [quota("ml.g6.xlarge", 9), quota("ml.g5.xlarge", 4)]},
    )

    found = statuses(check_quotas(fleets, read_quotas(PLACE, set(types), aws), PLACE))

    assert found == dict(zip(types, ["ok", "missing", "ok", "missing"], strict=True))
    assert [call.get("NextToken") for call in aws.named("ListServiceQuotas")] == [None, "more"]


def test_two_endpoints_on_one_type_need_the_sum(tmp_path: Path) -> None:
    stacks = stacks_of(tmp_path / "a", endpoint("ml.g5.xlarge")) + stacks_of(tmp_path / "b", endpoint("ml.g5.xlarge"))
    aws = StubAws(ListServiceQuotas={"Quotas": [quota("ml.g5.xlarge", 3)]})

    (finding,) = check_quotas(fleets_of(stacks, PLACE), read_quotas(PLACE, {"ml.g5.xlarge"}, aws), PLACE)

    assert finding.status is Status.MISSING
    assert "4 needed" in finding.sentence


def test_a_count_that_only_the_deploy_knows_is_never_ok(tmp_path: Path) -> None:
    resources = endpoint("ml.g6e.xlarge")
    resources["Config"]["Properties"]["ProductionVariants"][0]["InitialInstanceCount"] = {"Ref": "Instances"}
    fleets = fleets_of(stacks_of(tmp_path, resources), PLACE)
    aws = StubAws(ListServiceQuotas={"Quotas": [quota("ml.g6e.xlarge", 99)]})

    (finding,) = check_quotas(fleets, read_quotas(PLACE, {"ml.g6e.xlarge"}, aws), PLACE)

    assert (finding.status, "compare it with the quota" in finding.sentence) == (Status.UNKNOWN, True)


@pytest.mark.parametrize("answer", [DENIED, THROTTLED, UNREACHED])
def test_quotas_that_cannot_be_read_are_unknown(tmp_path: Path, answer: Any) -> None:
    fleets = fleets_of(stacks_of(tmp_path, endpoint("ml.g5.xlarge")), PLACE)

    (finding,) = check_quotas(fleets, read_quotas(PLACE, {"ml.g5.xlarge"}, StubAws(ListServiceQuotas=answer)), PLACE)

    assert finding.status is Status.UNKNOWN
    assert "servicequotas:ListServiceQuotas" in finding.sentence


# Instance types


OFFERED = {"InstanceTypeOfferings": [{"InstanceType": "g5.xlarge"}]}
LISTED = {"Quotas": [quota("ml.g5.xlarge", 2)]}
NONE: dict[str, Any] = {"Quotas": []}


@pytest.mark.parametrize(
    ("quotas", "offerings", "status"),
    [
        (LISTED, OFFERED, Status.OK),
        (NONE, OFFERED, Status.MISSING),
        (LISTED, {"InstanceTypeOfferings": []}, Status.MISSING),
        (DENIED, {"InstanceTypeOfferings": []}, Status.MISSING),
        (DENIED, OFFERED, Status.UNKNOWN),
        (LISTED, Refused("UnauthorizedOperation", 403), Status.UNKNOWN),
        (LISTED, Refused("RequestLimitExceeded", 503), Status.UNKNOWN),
    ],
)
def test_an_instance_type_is_offered_where_both_sources_say_so(
    tmp_path: Path, quotas: Any, offerings: Any, status: Status
) -> None:
    fleets = fleets_of(stacks_of(tmp_path, endpoint("ml.g5.xlarge")), PLACE)
    aws = StubAws(ListServiceQuotas=quotas, ListAWSDefaultServiceQuotas=NONE, DescribeInstanceTypeOfferings=offerings)

    (finding,) = check_offerings(fleets, read_quotas(PLACE, {"ml.g5.xlarge"}, aws), PLACE, aws)

    assert finding.status is status


# Images


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        ({"images": [{"imageId": {"imageDigest": DIGEST}}]}, Status.OK, "found in registry"),
        ({"images": [], "failures": [{"failureCode": "ImageNotFound"}]}, Status.MISSING, "correct its digest"),
        (Refused("RepositoryNotFoundException"), Status.MISSING, "no repository decision-adapter"),
        ({"images": [], "failures": [{"failureCode": "KmsError"}]}, Status.UNKNOWN, "KmsError"),
        (DENIED, Status.UNKNOWN, "may not call ecr:BatchGetImage"),
        (THROTTLED, Status.UNKNOWN, "throttled"),
    ],
)
def test_an_image_is_asked_for_by_its_digest(tmp_path: Path, answer: Any, status: Status, sentence: str) -> None:
    aws = StubAws(BatchGetImage=answer)

    (finding,) = check_images(stacks_of(tmp_path, endpoint("ml.c6i.xlarge")), PLACE, aws)

    assert finding.status is status
    assert sentence in finding.sentence
    (call,) = aws.named("BatchGetImage")
    assert (call["registryId"], call["repositoryName"], call["imageIds"]) == (
        ACCOUNT,
        "decision-adapter",
        [{"imageDigest": DIGEST}],
    )


def test_a_uri_made_of_pseudo_parameters_is_asked_for_in_its_own_registry(tmp_path: Path) -> None:
    uri = {"Fn::Join": ["", ["763104351884.dkr.ecr.us-east-1.", {"Ref": "AWS::URLSuffix"}, f"/llama-cpp@{DIGEST}"]]}
    aws = StubAws(BatchGetImage={"images": [{}]})

    list(check_images(stacks_of(tmp_path, endpoint("ml.c6i.xlarge", image=uri)), PLACE, aws))

    assert aws.named("BatchGetImage")[0]["registryId"] == "763104351884"


@pytest.mark.parametrize("wrap", [str, lambda text: {"Fn::Join": ["", [text, '","x":"', {"Ref": "Repository"}]]}])
def test_of_an_image_that_the_deploy_builds_its_base_is_checked(tmp_path: Path, wrap: Any) -> None:
    base = f"763104351884.dkr.ecr.us-east-1.amazonaws.com/llama-cpp@{DIGEST}"
    built = {"Fn::Join": ["@", [{"Fn::ImportValue": "Repository"}, {"Fn::GetAtt": ["Build", "Digest"]}]]}
    resources = {
        **endpoint("ml.c6i.xlarge", image=built),
        "Build": build_run(ResultRepository="r", ResultTag="t", Environment=wrap(f'{{"BASE_IMAGE":"{base}"}}')),
    }
    aws = StubAws(BatchGetImage={"images": [{}]})

    found = list(check_images(stacks_of(tmp_path, resources), PLACE, aws))

    assert [(finding.status, finding.subject.partition("@")[0]) for finding in found] == [(Status.OK, "llama-cpp")]


@pytest.mark.parametrize(
    ("image", "status"),
    [
        ("public.ecr.aws/deep-learning-containers/llama-cpp:server", Status.MISSING),
        ({"Ref": "ImageParameter"}, Status.UNKNOWN),
    ],
)
def test_an_image_that_cannot_be_asked_for_is_not_ok(tmp_path: Path, image: Any, status: Status) -> None:
    (finding,) = check_images(stacks_of(tmp_path, endpoint("ml.c6i.xlarge", image=image)), PLACE, StubAws())

    assert finding.status is status


# Driver AMI


@pytest.mark.parametrize(
    ("ami", "status"), [(AMI, Status.OK), ("al2023-ami-sagemaker-inference-gpu-9-9", Status.MISSING)]
)
def test_a_driver_ami_is_one_of_the_api(tmp_path: Path, ami: str, status: Status) -> None:
    (finding,) = check_driver_amis(fleets_of(stacks_of(tmp_path, endpoint("ml.g5.xlarge", ami=ami)), PLACE))

    assert finding.status is status


# Permissions


def simulation(decision: str, **others: str) -> Any:
    def answer(parameters: dict[str, Any]) -> dict[str, Any]:
        decisions = [(action, others.get(action.partition(":")[2], decision)) for action in parameters["ActionNames"]]
        return {"EvaluationResults": [{"EvalActionName": name, "EvalDecision": said} for name, said in decisions]}

    return answer


def permissions(
    folder: Path, answer: Any, identity: Identity = IDENTITY, **changes: Any
) -> tuple[dict[str, Any], StubAws]:
    aws = StubAws(GetRole=changes.pop("get_role", {"Role": {"Arn": ROLE}}), SimulatePrincipalPolicy=answer)
    stacks = stacks_of(folder, endpoint("ml.c6i.xlarge"), **changes)
    return {finding.subject: finding for finding in check_permissions(stacks, PLACE, identity, aws)}, aws


def test_a_session_is_simulated_as_its_role_with_its_path(tmp_path: Path) -> None:
    found, aws = permissions(tmp_path, simulation("allowed"))

    assert {finding.status for finding in found.values()} == {Status.OK}
    assert set(found) == {
        f"cdk-hnb659fds-{name}-role-123456789012-us-east-1" for name in ("deploy", "lookup", "cfn-exec")
    }
    assert aws.named("SimulatePrincipalPolicy")[0]["PolicySourceArn"] == ROLE


def test_a_role_that_may_not_be_assumed_is_missing(tmp_path: Path) -> None:
    found, _ = permissions(tmp_path, simulation("allowed", AssumeRole="implicitDeny"))

    finding = found["cdk-hnb659fds-deploy-role-123456789012-us-east-1"]
    assert finding.status is Status.MISSING
    assert "role/cdk-hnb659fds-deploy-role-123456789012-us-east-1: have it allowed" in finding.sentence


@pytest.mark.parametrize("answer", [Refused("AccessDenied", 403), Refused("Throttling"), Refused("NoSuchEntity", 404)])
def test_a_caller_that_cannot_be_simulated_is_unknown(tmp_path: Path, answer: Refused) -> None:
    found, _ = permissions(tmp_path, answer, get_role=DENIED)

    assert found["cdk-hnb659fds-deploy-role-123456789012-us-east-1"].status is Status.UNKNOWN


def test_root_is_unknown_because_iam_simulates_no_root(tmp_path: Path) -> None:
    found, _ = permissions(tmp_path, simulation("allowed"), Identity(ACCOUNT, f"arn:aws:iam::{ACCOUNT}:root"))

    assert found["deploy"].status is Status.UNKNOWN


def test_without_roles_to_assume_the_caller_itself_deploys(tmp_path: Path) -> None:
    found, _ = permissions(tmp_path, simulation("allowed", CreateChangeSet="implicitDeny"), roles=False)

    assert {subject: finding.status for subject, finding in found.items()} == {
        "cloudformation:CreateChangeSet": Status.MISSING,
        "cloudformation:DescribeStacks": Status.OK,
        "cloudformation:ExecuteChangeSet": Status.OK,
    }


@pytest.mark.parametrize(
    ("answer", "status", "sentence"),
    [
        (simulation("allowed"), Status.OK, "3 actions"),
        (simulation("allowed", CreateEndpoint="explicitDeny"), Status.MISSING, "denies sagemaker:CreateEndpoint"),
        (simulation("allowed", CreateModel="implicitDeny"), Status.UNKNOWN, "sagemaker:CreateModel on every resource"),
        (simulation("implicitDeny"), Status.MISSING, "--cloudformation-execution-policies"),
        (Refused("NoSuchEntity", 404), Status.MISSING, "does not exist"),
        (Refused("AccessDenied", 403), Status.UNKNOWN, "may not call iam:SimulatePrincipalPolicy"),
    ],
)
def test_cloudformations_role_is_simulated_with_what_the_stacks_hold(
    tmp_path: Path, answer: Any, status: Status, sentence: str
) -> None:
    found, _ = permissions(tmp_path, answer)

    finding = found["cdk-hnb659fds-cfn-exec-role-123456789012-us-east-1"]
    assert finding.status is status
    assert sentence in finding.sentence


# What needs no AWS


def test_an_error_of_the_app_is_missing_in_its_own_words(tmp_path: Path) -> None:
    metadata = {"/dev/Endpoint/Model": [{"type": "aws:cdk:error", "data": "The model file m.gguf was not found"}]}

    (finding,) = check_app(stacks_of(tmp_path, {}, metadata=metadata))

    assert (finding.status, finding.sentence) == (Status.MISSING, "The model file m.gguf was not found")


def test_a_file_to_upload_that_is_not_there_is_missing(tmp_path: Path) -> None:
    assets = {
        "a": {"displayName": "tiny.gguf", "source": {"path": str(tmp_path / "tiny.gguf")}},
        "b": {"displayName": "Template", "source": {"path": "Endpoint.template.json"}},
        "c": {"displayName": "Made", "source": {"executable": ["make"]}},
    }

    (finding,) = check_files(stacks_of(tmp_path, {}, assets=assets))

    assert (finding.subject, finding.status) == ("tiny.gguf", Status.MISSING)
