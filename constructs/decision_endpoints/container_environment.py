"""What SageMaker takes as the environment of a container."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Token

_MOST_VARIABLES = 100
_LONGEST = 1024


def environment_complaints(environment: Mapping[str, str]) -> list[str]:
    """What SageMaker would refuse when the model is made.

    >>> environment_complaints({"SM_LLAMA_CPP_GRAMMAR": "x" * 1025})
    ['the value of SM_LLAMA_CPP_GRAMMAR has 1025 characters: SageMaker allows 1024, give a shorter one']

    Source: Amazon SageMaker API reference, "ContainerDefinition".
    """
    complaints = []
    allowed = f"SageMaker allows {_LONGEST}, give a shorter one"
    if len(environment) > _MOST_VARIABLES:
        complaints.append(
            f"there are {len(environment)} environment variables: SageMaker allows {_MOST_VARIABLES}, set fewer"
        )
    for name, value in environment.items():
        if len(name) > _LONGEST:
            complaints.append(f"the name {name:.40}… has {len(name)} characters: {allowed}")
        if not Token.is_unresolved(value) and len(value) > _LONGEST:
            complaints.append(f"the value of {name} has {len(value)} characters: {allowed}")
    return complaints
