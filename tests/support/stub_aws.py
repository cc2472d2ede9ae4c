"""AWS as a table of answers: real boto3 clients, which check every call's parameters, and nothing behind them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders

from decision_client.local_cloud import LocalCloud


@dataclass(frozen=True)
class Refused:
    """An error of AWS."""

    code: str
    status: int = 400
    message: str = "no"


DENIED = Refused("AccessDeniedException")
THROTTLED = Refused("ThrottlingException")


class StubAws:
    """Gives the client of a service in a region. Making clients takes long, so all stubs share them.

    `answers` maps an operation to its answer, to an error, to a function of its parameters, or to a list of these, of
    which each call takes the next and the last one stays.
    """

    _made: ClassVar[dict[tuple[str, str], Any]] = {}
    _current: ClassVar[StubAws]

    def __init__(self, **answers: Any) -> None:
        self.answers: dict[str, Any] = dict(answers)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        StubAws._current = self

    def __call__(self, service: str, region: str) -> Any:
        if (service, region) not in self._made:
            # Of a session that reads no settings of the user's.
            session = LocalCloud(port=1, account="123456789012", region=region).session()
            client = session.client(service)  # type: ignore[call-overload]
            client.meta.events.register("before-parameter-build", _note)
            client.meta.events.register("before-call", _answer)
            self._made[service, region] = client
        return self._made[service, region]

    def named(self, operation: str) -> list[dict[str, Any]]:
        """The parameters of every call of one operation."""
        return [parameters for name, parameters in self.calls if name == operation]


def _note(params: dict[str, Any], model: Any, **_: Any) -> None:
    StubAws._current.calls.append((model.name, dict(params)))


def _answer(model: Any, **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
    aws = StubAws._current
    answer = aws.answers[model.name]
    if isinstance(answer, list):
        answer = answer.pop(0) if len(answer) > 1 else answer[0]
    if callable(answer) and not isinstance(answer, Exception):
        answer = answer(aws.named(model.name)[-1])
    if isinstance(answer, BaseException):
        raise answer
    status = answer.status if isinstance(answer, Refused) else 200
    parsed: dict[str, Any] = (
        {"Error": {"Code": answer.code, "Message": answer.message}} if isinstance(answer, Refused) else dict(answer)
    )
    parsed["ResponseMetadata"] = {"HTTPStatusCode": status}
    return AWSResponse("https://aws", status, HTTPHeaders(), None), parsed
