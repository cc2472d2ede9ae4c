"""Are the stored bytes the pinned ones, and what model are they?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from record import find_recorded, keep_record
from request import VerifyRequest

from decision_provenance.archive import verify_archive
from decision_provenance.digest import hash_chunks
from decision_provenance.gguf import GgufFacts, GgufRefused, join_facts, read_facts
from decision_provenance.manifest import MANIFEST_LIMIT_BYTES, MANIFEST_NAME, Manifest, PackagedFile, model_files
from decision_provenance.s3_object import ObjectStream, PinnedObject, pin_object, read_chunks

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

_AS_PINNED = "correct the pin, or delete the prefix and deploy again to package the pinned file"
_LISTED_KEYS = 1000

CheckTime = Callable[[str], None]


class VerificationRefused(ValueError):
    """What is stored is not what was pinned; the text names the object, what it is and what the pin says."""


@dataclass(frozen=True)
class VerifiedModel:
    """A package whose every byte was read, now or before, and matches its pin."""

    request: VerifyRequest
    facts: GgufFacts

    def attributes(self) -> dict[str, str]:
        """What `Fn::GetAtt` returns; empty text where the file does not say."""
        facts = self.facts
        values: dict[str, object] = {
            "S3Uri": f"{self.request.uri}{self.request.archive or ''}",
            "Digest": self.request.digest,
            "Bytes": sum(file.bytes for file in self.request.files),
            "Architecture": facts.architecture,
            "ContextLength": facts.context_length,
            "BlockCount": facts.block_count,
            "VocabSize": facts.vocab_size,
            "FileType": facts.file_type,
            "ParameterCount": facts.parameter_count,
            "SplitCount": facts.split_count,
            "ChatTemplateSha256": facts.chat_template_sha256,
            "DecisionType": facts.decision_type,
        }
        return {name: "" if value is None else str(value) for name, value in values.items()}


def verify(request: VerifyRequest, s3: S3Client, check_time: CheckTime) -> VerifiedModel:
    """Read every file of the package and compare it with its pin, unless exactly these objects passed before.

    Parameters
    ----------
    request:
        What must be there.
    s3:
        A boto3 client.
    check_time:
        Called before every MiB with words for how far it got; raises when there is no time for another.

    Raises
    ------
    ValueError
        If anything in the prefix is not as pinned; the text says what to do.
    """
    names = _list_names(request, s3)
    recorded = find_recorded(request, names, s3)
    if recorded is not None:
        return VerifiedModel(request, recorded)
    objects = {name: _pin(request, name, s3) for name in names}
    facts = (_read_archive if request.archive else _read_files)(request, objects, s3, check_time)
    check_time("all bytes, before the manifest")
    _compare_manifest(request, objects, s3)
    for pinned in objects.values():
        _refuse_replaced(pinned, s3)
    keep_record(request, list(objects.values()), facts, s3)
    return VerifiedModel(request, facts)


def _list_names(request: VerifyRequest, s3: S3Client) -> list[str]:
    """What lies under the prefix: the pinned files, or their archive, and it may be a manifest."""
    answer = s3.list_objects_v2(Bucket=request.bucket, Prefix=request.prefix, MaxKeys=_LISTED_KEYS)
    listed = [entry["Key"].removeprefix(request.prefix) for entry in answer.get("Contents", [])]
    names = sorted(filter(None, listed))
    seen = [name for name in names if name != MANIFEST_NAME]
    if answer.get("IsTruncated") or seen != sorted(request.names):
        shown = ", ".join(seen[:10]) + (f" and {len(seen) - 10} more" if len(seen) > 10 else "") if seen else "nothing"
        allowed = f"the archive is {request.archive}" if request.archive else f"the pin lists {_listing(request)}"
        raise VerificationRefused(f"{request.uri} holds {shown}, {allowed}: {_AS_PINNED}")
    return names


def _listing(request: VerifyRequest) -> str:
    return ", ".join(request.names[:10])


def _pin(request: VerifyRequest, name: str, s3: S3Client) -> PinnedObject:
    key = request.prefix + name
    pinned = pin_object(s3, request.bucket, key)
    if pinned is None:
        raise VerificationRefused(f"s3://{request.bucket}/{key} is gone since it was listed: {_AS_PINNED}")
    return pinned


def _read_files(
    request: VerifyRequest, objects: Mapping[str, PinnedObject], s3: S3Client, check_time: CheckTime
) -> GgufFacts:
    for file in request.files:
        _refuse_other_length(file, objects[file.name])
    for file in request.files:
        _compare(file, objects[file.name], s3, check_time)
    return join_facts([_facts(objects[file.name], s3) for file in model_files(request.files)])


def _read_archive(
    request: VerifyRequest, objects: Mapping[str, PinnedObject], s3: S3Client, check_time: CheckTime
) -> GgufFacts:
    (archive,) = (objects[name] for name in request.names)

    def before_packed(done: int) -> None:
        check_time(f"{done} of {archive.bytes} bytes of {archive.uri}")

    def before_unpacked(done: int) -> None:
        check_time(f"{done} unpacked bytes of {archive.uri}")

    with closing(read_chunks(s3, archive, before_chunk=before_packed)) as chunks:
        return verify_archive(chunks, request.files, where=archive.uri, before_chunk=before_unpacked)


def _refuse_other_length(file: PackagedFile, pinned: PinnedObject) -> None:
    if pinned.bytes != file.bytes:
        raise VerificationRefused(f"{pinned.uri} has {pinned.bytes} bytes, the pin says {file.bytes}: {_AS_PINNED}")


def _compare(file: PackagedFile, pinned: PinnedObject, s3: S3Client, check_time: CheckTime) -> None:
    def before_chunk(done: int) -> None:
        check_time(f"{done} of {file.bytes} bytes of {pinned.uri}")

    with closing(read_chunks(s3, pinned, before_chunk=before_chunk)) as chunks:
        found = hash_chunks(chunks)
    if found.sha256 != file.sha256:
        raise VerificationRefused(f"{pinned.uri} has SHA-256 {found.sha256}, the pin says {file.sha256}: {_AS_PINNED}")


def _facts(pinned: PinnedObject, s3: S3Client) -> GgufFacts:
    try:
        with ObjectStream(s3, pinned) as stream:
            return read_facts(stream, file_bytes=pinned.bytes)
    except GgufRefused as error:
        raise VerificationRefused(
            f"{pinned.uri} is as pinned, but no model to serve: {error}; pin another file"
        ) from error


def _refuse_replaced(pinned: PinnedObject, s3: S3Client) -> None:
    """What was hashed is one version of the object; what an endpoint downloads is whichever is the current one."""
    if pin_object(s3, pinned.bucket, pinned.key) != pinned:
        raise VerificationRefused(
            f"{pinned.uri} changed while it was verified (ETag {pinned.etag} is no longer the current version): "
            "find out who writes there, then deploy again"
        )


def _compare_manifest(request: VerifyRequest, objects: Mapping[str, PinnedObject], s3: S3Client) -> None:
    """The manifest says nothing the pin does not; but one that says otherwise is a sign of tampering."""
    pinned = objects.get(MANIFEST_NAME)
    if pinned is None:
        return
    if pinned.bytes > MANIFEST_LIMIT_BYTES:
        raise VerificationRefused(
            f"{pinned.uri} has {pinned.bytes} bytes, at most {MANIFEST_LIMIT_BYTES} are read: delete it first"
        )
    content = b"".join(read_chunks(s3, pinned))
    try:
        manifest = Manifest.from_bytes(content)
    except ValueError as error:
        raise VerificationRefused(f"{pinned.uri}: {error}; delete it first") from error
    if manifest.files != request.files:
        raise VerificationRefused(
            f"{pinned.uri} describes package {manifest.digest}, the pin says {request.digest}: {_AS_PINNED}"
        )
