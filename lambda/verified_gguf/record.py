"""The finished result of a verification, which stands for reading the same versions of the same objects again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from request import VerifyRequest

from decision_provenance.gguf import GgufFacts
from decision_provenance.s3_object import PinnedObject, pin_object, read_small
from decision_provenance.verification_record import RECORD_LIMIT_BYTES, VerificationRecord, recorded_objects

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


class RecordNotWritten(Exception):
    """The bytes are as pinned, but the next deploy would not know; the text says what to do."""


def find_recorded(request: VerifyRequest, names: Sequence[str], s3: S3Client) -> GgufFacts | None:
    """The facts of an earlier verification, if exactly what it read still lies there; None if anything differs.

    Parameters
    ----------
    request:
        What must be there.
    names:
        What lies under its prefix.
    s3:
        A boto3 client.
    """
    if request.record_key is None:
        return None
    content = read_small(s3, request.bucket, request.record_key, limit=RECORD_LIMIT_BYTES)
    if content is None:
        return None
    uri = f"s3://{request.bucket}/{request.record_key}"
    try:
        record = VerificationRecord.from_bytes(content)
    except ValueError as error:
        print(f"{uri} is passed over: {error}")
        return None
    if (record.prefix, record.files) != (request.prefix, request.files):
        print(f"{uri} is passed over: it is of another pin or prefix")
        return None
    keys = sorted(request.prefix + name for name in names)
    current = {key: pin_object(s3, request.bucket, key) for key in keys}
    if [entry.key for entry in record.objects] != keys or not all(
        entry.is_still(current[entry.key]) for entry in record.objects
    ):
        print(f"{uri} is passed over: other versions lie in the bucket now")
        return None
    print(f"{request.uri} was verified before, as {uri} says")
    return record.facts


def keep_record(request: VerifyRequest, objects: Sequence[PinnedObject], facts: GgufFacts, s3: S3Client) -> None:
    """Write the record of what was just read, unless it could change unseen.

    Raises
    ------
    RecordNotWritten
        If S3 does not take it.
    """
    recorded = recorded_objects(objects)
    if request.record_key is None or recorded is None:
        return
    record = VerificationRecord(request.prefix, request.digest, request.files, recorded, facts)
    try:
        s3.put_object(
            Bucket=request.bucket, Key=request.record_key, Body=record.to_bytes(), ContentType="application/json"
        )
    except s3.exceptions.ClientError as error:
        code = error.response.get("Error", {}).get("Code", "")
        raise RecordNotWritten(
            f"{request.uri} is as pinned, but its record s3://{request.bucket}/{request.record_key} could not be "
            f"written ({code}): this role needs s3:PutObject on it and the use of its key; deploy again"
        ) from error
