"""The body of POST /invocations, the one route SageMaker has: SemIf or System One, told apart by their fields."""

from __future__ import annotations

import msgspec

from decision_adapter.errors import RequestRefused
from decision_adapter.wire import Asked, Limits, semif, systemone


class _Fields(msgspec.Struct):
    decision: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    decisions: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    questions: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_FIELDS = msgspec.json.Decoder(_Fields)


def decode(body: bytes, limits: Limits) -> Asked:
    """Read a request's body.

    Raises
    ------
    RequestRefused
        In one sentence: what was found, where, what is allowed.
    """
    try:
        found = _FIELDS.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return semif.decode(body, limits)  # which says what is wrong with it
    is_semif = found.decision is not msgspec.UNSET or found.decisions is not msgspec.UNSET
    is_systemone = found.questions is not msgspec.UNSET
    if is_semif and is_systemone:
        raise RequestRefused('the request has "questions" beside "decision" or "decisions": give exactly one of them')
    if is_systemone:
        return systemone.decode(body, limits)
    if is_semif:
        return semif.decode(body, limits)
    raise RequestRefused('the request has neither "decision" nor "decisions" nor "questions": give exactly one of them')
