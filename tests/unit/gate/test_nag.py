"""cdk-nag's findings fail the gate unless each is acknowledged, at exactly the resource that it is about."""

from __future__ import annotations

from aws_cdk import Stack, Stage
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import IConstruct

from gate.acknowledgement import Acknowledged
from gate.nag import judge
from tests.support.synth import new_app

BUCKET = "Stack/Bucket/Resource"
ROLE = "Stack/Role/DefaultPolicy/Resource"


def _app() -> IConstruct:
    """An environment with a bucket that has no access logs, and a role that may read everything below a prefix."""
    app = new_app()
    stack = Stack(Stage(app, "dev"), "Stack")
    s3.Bucket(stack, "Bucket")
    role = iam.Role(stack, "Role", assumed_by=iam.AccountRootPrincipal())
    role.add_to_policy(iam.PolicyStatement(actions=["s3:GetObject"], resources=["arn:aws:s3:::models-dev/*"]))
    return app


def _problems(*table: Acknowledged, app: IConstruct | None = None) -> list[str]:
    return judge(app or _app(), table, {"dev": {"dev": "<environment>"}})


def test_a_finding_that_nobody_acknowledged_is_told_with_its_construct() -> None:
    problems = _problems()

    assert any(problem.startswith(f"dev/{BUCKET}: AwsSolutions-S1: ") for problem in problems)


def test_both_packs_look() -> None:
    problems = _problems()

    assert any(problem.startswith(f"dev/{BUCKET}: NIST.800.53.R5-S3BucketVersioningEnabled: ") for problem in problems)


def test_an_acknowledged_finding_is_not_told() -> None:
    problems = _problems(Acknowledged("AwsSolutions-S1", (BUCKET,), "It is the bucket of access logs."))

    assert not any("AwsSolutions-S1:" in problem for problem in problems)


def test_an_acknowledgement_above_the_resource_does_not_count() -> None:
    problems = _problems(Acknowledged("AwsSolutions-S1", ("Stack", "Stack/Bucket"), "Everything here."))

    assert any(problem.startswith(f"dev/{BUCKET}: AwsSolutions-S1: ") for problem in problems)


def test_an_acknowledgement_of_what_is_not_found_any_more_fails() -> None:
    problems = _problems(Acknowledged("AwsSolutions-S1", ("Stack/Gone/Resource",), "It was the bucket of access logs."))

    assert problems[-1].startswith("Stack/Gone/Resource: AwsSolutions-S1: acknowledged, but not found any more")


def test_one_wildcard_of_a_policy_does_not_acknowledge_another() -> None:
    other = Acknowledged("AwsSolutions-IAM5", (ROLE,), "One prefix.", ("Resource::arn:aws:s3:::models/*",))

    assert any(problem.startswith(f"dev/{ROLE}: AwsSolutions-IAM5[Resource::") for problem in _problems(other))


def test_an_environments_name_in_a_finding_is_written_as_a_placeholder() -> None:
    one = Acknowledged("AwsSolutions-IAM5", (ROLE,), "One prefix.", ("Resource::arn:aws:s3:::models-<environment>/*",))

    assert not any("AwsSolutions-IAM5" in problem for problem in _problems(one))
