"""What can be done with any endpoint, one of this app or one that is known by name: ask it, and watch it."""

from __future__ import annotations

from aws_cdk import Stack, Token
from aws_cdk import aws_iam as iam
from constructs import Construct

from .endpoint_metrics import VARIANT_NAME, EndpointMetrics


class InvocableEndpoint(Construct, EndpointMetrics):
    """An endpoint that exists elsewhere, from `DecisionEndpoint.from_endpoint_name`; the endpoints here add to it.

    Attributes
    ----------
    endpoint_name, endpoint_arn, variant_name:
        The name, the ARN, and the name of the production variant, ``main``.
    metrics:
        The production variant's metrics, which are also methods here.
    """

    endpoint_arn: str

    def _set_name(self, endpoint_name: str) -> None:
        self.endpoint_name = endpoint_name
        self.variant_name = VARIANT_NAME
        self.metrics = EndpointMetrics(endpoint_name)

    def grant_invoke(self, grantee: iam.IGrantable) -> iam.Grant:
        """Let `grantee` ask this endpoint."""
        return iam.Grant.add_to_principal(
            grantee=grantee, actions=["sagemaker:InvokeEndpoint"], resource_arns=[self.endpoint_arn]
        )


class NamedEndpoint(InvocableEndpoint):
    """An endpoint of the stack's account and region, by its name."""

    def __init__(self, scope: Construct, id: str, *, endpoint_name: str) -> None:
        super().__init__(scope, id)
        self._set_name(endpoint_name)
        # SageMaker writes the name in lower case there.
        in_arn = endpoint_name if Token.is_unresolved(endpoint_name) else endpoint_name.lower()
        self.endpoint_arn = Stack.of(self).format_arn(service="sagemaker", resource="endpoint", resource_name=in_arn)
