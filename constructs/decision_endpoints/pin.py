"""What a source is to a stack, and the rules that every source's pin must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from aws_cdk import aws_iam as iam
from constructs import Construct

from decision_provenance.gguf import GgufFacts
from decision_provenance.manifest import PackagedFile, model_prefix
from decision_provenance.pin import model_files, refuse_other_than_one_model

from .errors import InvalidArguments

# The strings of a location may be tokens, such as the name of the CDK's bucket.
Location = dict[str, str | dict[str, str]]


@dataclass(frozen=True, slots=True)
class BoundSource:
    """A source as a stack sees it: what the packaging job is told in `SOURCE`."""

    location: Location


class ModelSource(Protocol):
    """Where a model comes from: `LocalGguf`, `HuggingFaceGguf` or `S3Gguf`.

    `name` is the model's name in S3 keys and logs, `files` are the model's files in shard order, `tokenizer_files` what
    is packaged with them, by name, and `facts` what the header says. `digest` is the package's, `model_digest` that of
    the model's files alone, which an endpoint compares with the files that it loads.
    """

    @property
    def name(self) -> str: ...

    @property
    def files(self) -> Sequence[PackagedFile]: ...

    @property
    def tokenizer_files(self) -> Sequence[PackagedFile]: ...

    @property
    def facts(self) -> GgufFacts: ...

    @property
    def digest(self) -> str: ...

    @property
    def model_digest(self) -> str: ...

    def bind(self, scope: Construct, *, reader: iam.IGrantable) -> BoundSource:
        """What the packaging job is told, once `reader`, which runs it, may read the source."""


Rule = Callable[[], object]


def refuse_unless(what: str, rules: Iterable[Rule]) -> None:
    """Try every rule, and raise one `InvalidArguments` with what each of them refuses."""
    complaints = []
    for rule in rules:
        try:
            rule()
        except ValueError as refused:
            complaints.append(str(refused))
    if complaints:
        raise InvalidArguments(what, complaints)


def pin_rules(name: str, files: Sequence[PackagedFile], tokenizer_files: Sequence[PackagedFile]) -> list[Rule]:
    """What holds for every pin: the rules of the packaging build, before anything is uploaded for it to refuse."""
    return [
        lambda: model_prefix(name, "0" * 64),
        lambda: _refuse_other_than_a_model(files),
        lambda: _refuse_models_among(tokenizer_files),
    ]


def in_order(tokenizer_files: Sequence[PackagedFile]) -> tuple[PackagedFile, ...]:
    """The tokenizer's files as a package lists them. Any order may be given: they have none of their own."""
    return tuple(sorted(tokenizer_files, key=lambda file: file.name))


def _refuse_other_than_a_model(files: Sequence[PackagedFile]) -> None:
    refuse_other_than_one_model(files, where="files")
    others = [file.name for file in files if file not in model_files(files)]
    if others:
        raise ValueError(f"files lists {', '.join(others)}, which llama.cpp does not load: give it with the tokenizer")


def _refuse_models_among(tokenizer_files: Sequence[PackagedFile]) -> None:
    if tokenizer_files:
        model = PackagedFile(name="model.gguf", sha256="0" * 64, bytes=1)
        refuse_other_than_one_model([model, *in_order(tokenizer_files)], where="the tokenizer")
