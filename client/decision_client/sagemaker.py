"""The way through SageMaker's `InvokeEndpoint`.

SageMaker wraps a container's own refusal: what a container answers other than 2xx comes back as `ModelError`, HTTP 424,
with the container's status in `OriginalStatusCode` and its body in `OriginalMessage`. A busy container is therefore a
424 that no SDK retries (Amazon SageMaker API reference, InvokeEndpoint, "Errors").
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, NoRegionError
from botocore.parsers import ResponseParserError
from urllib3.exceptions import HTTPError

from decision_client.aws import is_sign_in
from decision_client.errors import EndpointUnavailable
from decision_client.failures import AttemptFailed, Failure, Kind, from_container, shorten

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient

# A container has 60 s for its answer (Amazon SageMaker developer guide, "How containers serve requests"); a client that
# gives up earlier leaves it working for nobody.
READ_TIMEOUT_SECONDS = 70
CONNECT_TIMEOUT_SECONDS = 10

# Errors of SageMaker itself that say that no container saw the request, so that asking again deepens no queue.
_NOT_REACHED = {
    "ModelNotReadyException",
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}
_NOT_ALLOWED = {"AccessDenied", "AccessDeniedException"}
_EXPIRED = {"ExpiredToken", "ExpiredTokenException"}
# What botocore raises when it cannot read what it got: it expects AWS at the other end, and there may be anything.
_UNREADABLE = (ResponseParserError, HTTPError, OSError, ValueError, TypeError, AttributeError)


class Runtime(Protocol):
    """The one call of the `sagemaker-runtime` client that is used."""

    def invoke_endpoint(
        self,
        *,
        EndpointName: str,  # noqa: N803
        Body: bytes,  # noqa: N803
        ContentType: str,  # noqa: N803
        Accept: str,  # noqa: N803
    ) -> Any:
        """Send one request to the endpoint."""


class SageMakerEndpoint:
    """Sends to an endpoint by its name; boto3 cannot give up in the middle, so an attempt may take up to 70 s.

    Parameters
    ----------
    endpoint_name:
        The endpoint's name.
    runtime:
        The boto3 client, see `connect`, or what stands for it.
    address:
        The URL of the API that it calls.
    """

    def __init__(self, endpoint_name: str, runtime: Runtime, address: str = "") -> None:
        self.title = f"endpoint {endpoint_name!r}"
        self.address = f"{address} {endpoint_name}"
        self._endpoint_name = endpoint_name
        self._runtime = runtime

    def send(self, body: bytes, *, seconds: float) -> bytes:
        """Invoke the endpoint once."""
        try:
            answer: bytes = self._runtime.invoke_endpoint(
                EndpointName=self._endpoint_name,
                Body=body,
                ContentType="application/json",
                Accept="application/json",
            )["Body"].read()
        except ClientError as error:
            raise AttemptFailed(self._read(error)) from error
        except BotoCoreError as error:
            raise AttemptFailed(Failure(Kind.UNAVAILABLE, self._no_connection(error))) from error
        except _UNREADABLE as error:
            what = f"{self.title} answered what is no answer of SageMaker ({shorten(error)}): check the URL of its API"
            raise AttemptFailed(Failure(Kind.UNAVAILABLE, what)) from error
        return answer

    def close(self) -> None:
        """End the connections."""
        close = getattr(self._runtime, "close", None)
        if close:
            close()

    def _read(self, error: ClientError) -> Failure:
        response: Any = error.response
        code = str(response.get("Error", {}).get("Code", ""))
        status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
        said = shorten(response.get("Error", {}).get("Message", "")) or shorten(code) or f"HTTP {status}"
        if code == "ModelError":
            return from_container(
                self.title,
                int(response.get("OriginalStatusCode") or 0),
                str(response.get("OriginalMessage") or said),
                log=str(response.get("LogStreamArn") or ""),
            )
        if code in _NOT_REACHED:
            return Failure(Kind.NOT_REACHED, f"{self.title} takes no requests now: {said}", status)
        if code in _EXPIRED:
            next_step = "sign in again (aws sso login), or renew the session's, and ask again"
            return Failure(Kind.UNAVAILABLE, f"the AWS credentials have expired ({said}): {next_step}", status)
        if is_sign_in(error):
            next_step = "sign in again, name another profile, or set this machine's clock"
            return Failure(Kind.UNAVAILABLE, f"AWS does not know these credentials ({said}): {next_step}", status)
        if code in _NOT_ALLOWED:
            next_step = "have sagemaker:InvokeEndpoint granted on it, or use other credentials"
            return Failure(
                Kind.UNAVAILABLE, f"these credentials may not invoke {self.title} ({said}): {next_step}", status
            )
        if code == "ValidationError" and "not found" in said.lower():
            next_step = "check its name, the region and the account"
            return Failure(Kind.UNAVAILABLE, f"there is no {self.title} here ({said}): {next_step}", status)
        if 400 <= status < 500:
            return Failure(Kind.REFUSED, said, status)
        return Failure(Kind.UNAVAILABLE, f"{self.title} failed: {said}", status)

    def _no_connection(self, error: BotoCoreError) -> str:
        if isinstance(error, NoCredentialsError):
            return f"there are no AWS credentials to invoke {self.title} with: sign in, or name a profile"
        if is_sign_in(error):
            return f"the AWS credentials cannot be had ({shorten(error)}): sign in again (aws sso login)"
        return f"{self.title} gave no answer: {shorten(error)}"


def connect(
    session: boto3.Session | None, region: str | None, endpoint_url: str | None, max_concurrency: int
) -> SageMakerRuntimeClient:
    """A boto3 client that neither retries nor gives up before the container must answer.

    Raises
    ------
    EndpointUnavailable
        If there is no region, or the session's profile does not exist.
    """
    config = Config(
        retries={"total_max_attempts": 1},
        connect_timeout=CONNECT_TIMEOUT_SECONDS,
        read_timeout=READ_TIMEOUT_SECONDS,
        max_pool_connections=max_concurrency,
        # A proxy of the environment cannot reach this machine's own loopback.
        proxies={} if _is_loopback(endpoint_url) else None,
    )
    try:
        return (session or boto3.Session()).client(
            "sagemaker-runtime", region_name=region, endpoint_url=endpoint_url, config=config
        )
    except NoRegionError as error:
        raise EndpointUnavailable(
            "no region is set: name one (--region, or region= in Python), or set AWS_REGION"
        ) from error
    except (BotoCoreError, ValueError) as error:
        raise EndpointUnavailable(f"no connection can be set up: {shorten(error)}") from error


def _is_loopback(url: str | None) -> bool:
    host = urlsplit(url or "").hostname or ""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
