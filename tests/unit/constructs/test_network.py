from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk.assertions import Template

from decision_endpoints import InvalidArguments, Network
from tests.support.synth import new_stack, resources


def _statements(template: Template, action: str) -> list[dict[str, Any]]:
    return [
        statement
        for name, policy in template.find_resources("AWS::IAM::Policy").items()
        if name.startswith("EndpointRole")
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
        if action in ([statement["Action"]] if isinstance(statement["Action"], str) else statement["Action"])
    ]


def test_the_container_stays_isolated_within_the_vpc(everything: Template) -> None:
    for model in resources(everything, "AWS::SageMaker::Model"):
        assert model["Properties"]["EnableNetworkIsolation"] is True
        assert len(model["Properties"]["VpcConfig"]["Subnets"]) == 2


def test_its_own_security_group_admits_nothing_and_lets_out_https_alone(everything: Template) -> None:
    (group,) = resources(everything, "AWS::EC2::SecurityGroup")

    assert "SecurityGroupIngress" not in group["Properties"]
    (egress,) = group["Properties"]["SecurityGroupEgress"]
    assert (egress["IpProtocol"], egress["FromPort"], egress["ToPort"]) == ("tcp", 443, 443)


def test_interfaces_are_made_only_in_these_subnets_with_this_group(everything: Template) -> None:
    (create,) = _statements(everything, "ec2:CreateNetworkInterface")

    # The interface itself has no name yet.
    assert [_kind(arn) for arn in create["Resource"]] == ["network-interface/*", "security-group/", *["subnet/"] * 2]


def test_only_interfaces_in_these_subnets_can_be_deleted(everything: Template) -> None:
    (delete,) = _statements(everything, "ec2:DeleteNetworkInterface")

    assert len(delete["Condition"]["ArnEquals"]["ec2:Subnet"]) == 2


def test_of_the_network_only_descriptions_are_of_everything(everything: Template) -> None:
    (describe,) = _statements(everything, "ec2:DescribeSubnets")

    assert describe["Resource"] == "*"
    assert all(action.startswith(("ec2:Describe", "ecr:GetAuthorizationToken")) for action in describe["Action"])


def test_subnets_and_groups_of_ones_own_are_taken() -> None:
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    group = ec2.SecurityGroup(stack, "Group", vpc=vpc)

    bound = Network(
        vpc=vpc, subnets=ec2.SubnetSelection(subnets=vpc.private_subnets[:1]), security_groups=[group]
    ).bind(stack)

    assert bound.subnet_ids == (vpc.private_subnets[0].subnet_id,)
    assert bound.security_groups == (group,)


def test_a_vpc_without_such_subnets_and_too_many_groups_are_refused_together() -> None:
    stack = new_stack()
    vpc = ec2.Vpc(stack, "Vpc", max_azs=2)
    group = ec2.SecurityGroup(stack, "Group", vpc=vpc)

    with pytest.raises(InvalidArguments) as refused:
        Network(
            vpc=vpc,
            subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED),
            security_groups=[group] * 6,
        ).bind(stack)

    assert len(refused.value.complaints) == 2
    assert "Isolated" in refused.value.complaints[0]
    assert "6 security groups: give 1 to 5" in refused.value.complaints[1]


def _kind(arn: str | dict[str, Any]) -> str:
    """``subnet/`` of an ARN that ends in a reference."""
    text = arn if isinstance(arn, str) else arn["Fn::Join"][1][0]
    return str(text).rpartition(":")[2]
