"""The ARN that IAM simulates, of whoever is signed in."""

from __future__ import annotations

import re

from decision_client.aws import AwsError, Clients

_ASSUMED = re.compile(r"arn:(?P<partition>[^:]+):sts::(?P<account>\d{12}):assumed-role/(?P<role>[^/]+)/.+")
_SIMULATED = re.compile(r"arn:[^:]+:iam::\d{12}:(user|role)/.+")


def principal_of(arn: str, region: str, clients: Clients) -> str | None:
    """The user or role behind an ARN of STS; None where IAM simulates no such principal: root, a federated user.

    A session names its role without the path, which only IAM knows (roles of IAM Identity Center have one).
    """
    match = _ASSUMED.fullmatch(arn)
    if match is None:
        return arn if _SIMULATED.fullmatch(arn) else None
    try:
        return str(clients("iam", region).get_role(RoleName=match["role"])["Role"]["Arn"])
    except AwsError:
        # Most roles have no path; of one that has, the simulation says that it does not exist.
        return f"arn:{match['partition']}:iam::{match['account']}:role/{match['role']}"
