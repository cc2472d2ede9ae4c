"""The VPC in which the instances of an endpoint have their network interfaces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jsii.errors
from aws_cdk import ArnFormat, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from .errors import InvalidArguments

_MOST_SUBNETS = 16
_MOST_SECURITY_GROUPS = 5
_HTTPS = 443


@dataclass(frozen=True, slots=True)
class BoundNetwork:
    """A network as a stack sees it."""

    subnet_ids: tuple[str, ...]
    security_groups: tuple[ec2.ISecurityGroup, ...]

    @property
    def vpc_config(self) -> sagemaker.CfnModel.VpcConfigProperty:
        """What the model is told."""
        return sagemaker.CfnModel.VpcConfigProperty(
            subnets=list(self.subnet_ids),
            security_group_ids=[group.security_group_id for group in self.security_groups],
        )

    def grant_interfaces(self, role: iam.IRole) -> None:
        """Let SageMaker, as `role`, place network interfaces in these subnets with these groups."""
        stack = Stack.of(role)

        def arn(resource: str, name: str) -> str:
            return stack.format_arn(
                service="ec2", resource=resource, resource_name=name, arn_format=ArnFormat.SLASH_RESOURCE_NAME
            )

        subnets = [arn("subnet", subnet_id) for subnet_id in self.subnet_ids]
        groups = [arn("security-group", group.security_group_id) for group in self.security_groups]
        # An interface has no name before it exists: what bounds it is the subnet and the groups it is made in.
        interfaces = arn("network-interface", "*")
        role.add_to_principal_policy(
            iam.PolicyStatement(actions=["ec2:CreateNetworkInterface"], resources=[interfaces, *subnets, *groups])
        )
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=[
                    "ec2:CreateNetworkInterfacePermission",
                    "ec2:DeleteNetworkInterface",
                    "ec2:DeleteNetworkInterfacePermission",
                ],
                resources=[interfaces],
                conditions={"ArnEquals": {"ec2:Subnet": subnets}},
            )
        )
        # EC2's Describe actions know no resource.
        role.add_to_principal_policy(
            iam.PolicyStatement(
                actions=[
                    "ec2:DescribeDhcpOptions",
                    "ec2:DescribeNetworkInterfaces",
                    "ec2:DescribeSecurityGroups",
                    "ec2:DescribeSubnets",
                    "ec2:DescribeVpcs",
                ],
                resources=["*"],
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Subnets and security groups for the instances; the container stays without a network all the same.

    SageMaker downloads the model through the VPC, so the subnets need a way to S3: a gateway endpoint or a NAT. It
    pulls the image, and callers reach the endpoint, outside of it.

    Parameters
    ----------
    vpc:
        The VPC.
    subnets:
        Which of its subnets, 1 to 16. Default: the private ones with a way out.
    security_groups:
        1 to 5. Default: one of its own, which admits nothing and lets out HTTPS alone.

    Raises
    ------
    InvalidArguments
        When given to an endpoint: if the VPC has no such subnet, or there are too many subnets or groups.

    Examples
    --------
    >>> network = Network(vpc=vpc, subnets=ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_ISOLATED))
    >>> network.security_groups is None
    True

    Source: Amazon SageMaker AI developer guide, "Give SageMaker AI hosted endpoints access to resources in your VPC"
    and "CreateModel API: execution role permissions"; service authorization reference, "Amazon EC2".
    """

    vpc: ec2.IVpc
    subnets: ec2.SubnetSelection | None = None
    security_groups: Sequence[ec2.ISecurityGroup] | None = None

    def bind(self, scope: Construct) -> BoundNetwork:
        """Choose the subnets, and make the security group if none was given."""
        subnet_ids: list[str] = []
        complaints = []
        try:
            subnet_ids = self._subnet_ids()
        except (RuntimeError, jsii.errors.JSIIError) as error:
            # The CDK's own sentence names the subnets that there are.
            complaints.append(f"network: {str(error).splitlines()[0]}")
        else:
            if not 1 <= len(subnet_ids) <= _MOST_SUBNETS:
                complaints.append(f"network selects {len(subnet_ids)} subnets: select 1 to {_MOST_SUBNETS}")
        groups = self.security_groups
        if groups is not None and not 1 <= len(groups) <= _MOST_SECURITY_GROUPS:
            count = len(groups)
            complaints.append(f"network has {count} security groups: give 1 to {_MOST_SECURITY_GROUPS}, or none at all")
        if complaints:
            raise InvalidArguments("Network", complaints)
        return BoundNetwork(tuple(subnet_ids), tuple(groups or [self._own_group(scope)]))

    def _subnet_ids(self) -> list[str]:
        chosen = self.subnets or ec2.SubnetSelection()
        selected = self.vpc.select_subnets(
            availability_zones=chosen.availability_zones,
            one_per_az=chosen.one_per_az,
            subnet_filters=chosen.subnet_filters,
            subnet_group_name=chosen.subnet_group_name,
            subnets=chosen.subnets,
            subnet_type=chosen.subnet_type,
        )
        return list(selected.subnet_ids)

    def _own_group(self, scope: Construct) -> ec2.SecurityGroup:
        group = ec2.SecurityGroup(
            scope,
            "SecurityGroup",
            vpc=self.vpc,
            description="Instances of a SageMaker endpoint: nothing in, HTTPS out",
            allow_all_outbound=False,
        )
        group.add_egress_rule(ec2.Peer.any_ipv4(), ec2.Port.tcp(_HTTPS), "The model, from S3")
        return group
