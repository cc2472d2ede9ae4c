"""Who is signed in, and whether the stacks go to that account."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from decision_client.assembly import Stack
from decision_client.aws import AwsError, Clients, is_sign_in, why_not
from decision_client.doctor.finding import Finding, Status

CHECK = "credentials"


@dataclass(frozen=True)
class Identity:
    """Who calls: an account and an ARN."""

    account: str
    arn: str


def check_credentials(stacks: Sequence[Stack], region: str, clients: Clients) -> tuple[Finding, Identity | None]:
    """Ask STS who is signed in; the identity is None where nobody of the right account is."""
    try:
        answer = clients("sts", region).get_caller_identity()
    except AwsError as error:
        if is_sign_in(error):
            sentence = f"nobody is signed in to AWS ({error}): `aws sso login`, `aws configure`, or name a --profile"
            return Finding(CHECK, "AWS", Status.MISSING, sentence), None
        return Finding(CHECK, "AWS", Status.UNKNOWN, why_not(error, "sts:GetCallerIdentity")), None
    identity = Identity(str(answer["Account"]), str(answer["Arn"]))
    wanted = sorted({stack.account for stack in stacks if stack.account})
    if wanted not in ([], [identity.account]):
        sentence = (
            f"{identity.arn} is of account {identity.account} and the stacks go to {' and '.join(wanted)}: "
            "sign in there, or name its --profile"
        )
        return Finding(CHECK, identity.account, Status.MISSING, sentence), None
    return Finding(CHECK, identity.account, Status.OK, f"signed in as {identity.arn}"), identity
