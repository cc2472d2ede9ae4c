"""What the template asks to be built."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

_TEXTS = ("Project", "ResultBucket", "ResultKey", "Inputs")


@dataclass(frozen=True)
class BuildRequest:
    """A CodeBuild project to run with an environment, unless the result it would write is there already."""

    project: str
    result_bucket: str
    result_key: str
    inputs: str
    environment: dict[str, str]

    @property
    def physical_id(self) -> str:
        """Depends on the inputs alone, so that an update with the same inputs keeps it."""
        return f"build-run/{self.inputs[:16]}"

    @property
    def result_uri(self) -> str:
        """`s3://bucket/key` of the finished result."""
        return f"s3://{self.result_bucket}/{self.result_key}"


def read_request(properties: Mapping[str, object]) -> BuildRequest:
    """Read `ResourceProperties`; ValueError names the property that is wrong."""
    texts: dict[str, str] = {}
    for name in _TEXTS:
        value = properties.get(name)
        if not isinstance(value, str) or not value:
            raise ValueError(f"property {name} is {value!r:.100}: give a text of at least one character")
        texts[name] = value
    return BuildRequest(
        project=texts["Project"],
        result_bucket=texts["ResultBucket"],
        result_key=texts["ResultKey"],
        inputs=texts["Inputs"],
        environment=_environment(properties.get("Environment", "{}")),
    )


def _environment(text: object) -> dict[str, str]:
    try:
        document = json.loads(text) if isinstance(text, str) else text
    except ValueError:
        document = text
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise ValueError(f"property Environment is {text!r:.200}: give a JSON object of texts, as JSON text")
    return document
