"""What a template's references stand for before anything is deployed."""

from __future__ import annotations

from decision_client.assembly import Stack
from decision_client.place import Place
from decision_client.template_values import Lookup, Reference, Unresolved, resolve


def known_before_deploy(stack: Stack, place: Place) -> Lookup:
    """Pseudo parameters, and names that the template itself gives.

    An endpoint that CloudFormation names is ``<LogicalId>``: two values that refer to it are then equal.
    """
    pseudo = {**place.pseudo_parameters, "AWS::StackName": stack.name}
    endpoints = {resource.logical_id: resource for resource in stack.of_type("AWS::SageMaker::Endpoint")}

    def lookup(reference: Reference) -> str:
        if reference.attribute is None and reference.name in pseudo and not reference.is_import:
            return pseudo[reference.name]
        endpoint = endpoints.get(reference.name)
        if endpoint is not None and reference.attribute == "EndpointName":
            given = endpoint.properties.get("EndpointName")
            return resolve(given, lookup) if given is not None else f"<{reference.name}>"
        raise Unresolved(f"{reference} is only known once it is deployed")

    return lookup
