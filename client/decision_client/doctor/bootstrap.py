"""Whether the account and region are bootstrapped for the CDK.

Source: AWS CDK guide, "Bootstrap your environment for use with the AWS CDK".
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from decision_client.assembly import Bootstrap, Stack
from decision_client.aws import AwsError, Clients, error_code, why_not
from decision_client.doctor.finding import Finding, Status
from decision_client.place import Place

CHECK = "bootstrap"
_QUALIFIER = re.compile(r"/cdk-bootstrap/([^/]+)/version")
_DEFAULT_QUALIFIER = "hnb659fds"


def check_bootstrap(stacks: Sequence[Stack], place: Place, clients: Clients) -> Iterator[Finding]:
    """Compare the version in SSM with the one the stacks ask for."""
    needs: dict[str, Bootstrap] = {}
    for stack in stacks:
        if stack.bootstrap and stack.bootstrap.version >= needs.get(stack.bootstrap.parameter, stack.bootstrap).version:
            needs[stack.bootstrap.parameter] = stack.bootstrap
    for need in needs.values():
        yield _check(need, place, clients)


def _check(need: Bootstrap, place: Place, clients: Clients) -> Finding:
    link = place.console("cloudformation/home", "/stacks?filteringText=CDKToolkit")
    remedy = f"run `{bootstrap_command(need, place)}`"
    try:
        value = str(clients("ssm", place.region).get_parameter(Name=need.parameter)["Parameter"]["Value"])
    except AwsError as error:
        if error_code(error) == "ParameterNotFound":
            sentence = f"the account is not bootstrapped in {place.region} ({need.parameter} is not there): {remedy}"
            return Finding(CHECK, str(place), Status.MISSING, sentence, link)
        return Finding(CHECK, str(place), Status.UNKNOWN, why_not(error, "ssm:GetParameter"), link)
    if not value.isdecimal():
        sentence = f"{need.parameter} is {value!r:.40}, which is no version: {remedy}"
        return Finding(CHECK, str(place), Status.UNKNOWN, sentence, link)
    if int(value) < need.version:
        sentence = f"the bootstrap stack has version {value} and the stacks need {need.version}: {remedy}"
        return Finding(CHECK, str(place), Status.MISSING, sentence, link)
    return Finding(CHECK, str(place), Status.OK, f"version {value}, {need.version} is needed")


def bootstrap_command(need: Bootstrap, place: Place) -> str:
    """What to type.

    Examples
    --------
    >>> bootstrap_command(Bootstrap("/cdk-bootstrap/hnb659fds/version", 6), Place("123456789012", "eu-west-1"))
    'cdk bootstrap aws://123456789012/eu-west-1'
    """
    match = _QUALIFIER.fullmatch(need.parameter)
    if match is None or match.group(1) == _DEFAULT_QUALIFIER:
        return f"cdk bootstrap {place}"
    # A second bootstrap stack beside the default one needs a name of its own.
    qualifier = match.group(1)
    return f"cdk bootstrap {place} --qualifier {qualifier} --toolkit-stack-name CDKToolkit-{qualifier}"
