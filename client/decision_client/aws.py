"""The clients of one session, and what it means when AWS does not answer."""

from __future__ import annotations

from typing import Any, Protocol

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

# Service Quotas answers a few calls a second, and its list has over ten pages.
_CONFIG = Config(
    connect_timeout=5,
    read_timeout=30,
    retries={"mode": "adaptive", "total_max_attempts": 6},
    user_agent_extra="decisions",
)

_NOT_ALLOWED = {"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"}
_THROTTLED = {
    "LimitExceededException",
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}
_NOT_SIGNED_IN = {
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "SignatureDoesNotMatch",
    "UnrecognizedClientException",
}
_NO_CREDENTIALS = (
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    SSOError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

AwsError = (ClientError, BotoCoreError)
"""All that a call to AWS can raise."""


class Clients(Protocol):
    """Gives the boto3 client of a service in a region."""

    def __call__(self, service: str, region: str) -> Any:
        """The client."""


def clients_of(session: boto3.Session) -> Clients:
    """The clients of a session, each made once."""
    made: dict[tuple[str, str], Any] = {}

    def client(service: str, region: str) -> Any:
        if (service, region) not in made:
            # The stubs name each service; here it is a variable.
            made[service, region] = session.client(service, region_name=region, config=_CONFIG)  # type: ignore[call-overload]
        return made[service, region]

    return client


def error_code(error: Exception) -> str:
    """AWS's own word for what went wrong; empty where AWS gave no answer."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""


def is_sign_in(error: Exception) -> bool:
    """Whether the credentials are missing, wrong or out of date."""
    return isinstance(error, _NO_CREDENTIALS) or error_code(error) in _NOT_SIGNED_IN


def why_not(error: Exception, action: str) -> str:
    """Why `action` (``ssm:GetParameter``) got no answer, and what to do."""
    code = error_code(error)
    if code in _NOT_ALLOWED:
        return f"these credentials may not call {action}: have it allowed, or look it up by hand"
    if code in _THROTTLED:
        return f"AWS throttled {action}: try again in a minute"
    if is_sign_in(error):
        return f"the credentials for {action} are missing or out of date ({_said(error)}): sign in again"
    return f"{action} failed ({_said(error)}): try again"


def _said(error: Exception) -> str:
    return " ".join(str(error).split()).rstrip(".")[:300]
