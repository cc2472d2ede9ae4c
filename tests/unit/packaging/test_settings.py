"""A build is told what to package by four variables, and says everything that is wrong with them at once."""

from __future__ import annotations

import json

import pytest

from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.local_source import LocalSource
from decision_client.packaging.settings import read_settings


def test_the_variables_are_read(environment: dict[str, str]) -> None:
    settings = read_settings(environment)

    assert settings.source == LocalSource("assets", "asset.gguf", "m.gguf")
    assert settings.prefix == f"models/tiny/{settings.digest}/"


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(PackagingRefused, match="SOURCE is not set; MODEL_NAME is not set; PIN is not set; BUCKET"):
        read_settings({})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{", "SOURCE: it is not JSON"),
        ("[]", "with `kind`"),
        ('{"kind": "ftp"}', "its kind is 'ftp', allowed is 'local'"),
        ('{"kind": "local", "bucket": "b", "key": "k"}', "bucket, key and file"),
        ('{"kind": "local", "bucket": "b", "key": "k", "file": 5}', "bucket, key and file"),
    ],
)
def test_a_source_that_is_none_is_refused(environment: dict[str, str], source: str, said: str) -> None:
    with pytest.raises(PackagingRefused, match=said):
        read_settings(environment | {"SOURCE": source})


def test_a_pin_of_63_digits_is_refused(environment: dict[str, str]) -> None:
    pin = json.loads(environment["PIN"])
    pin[0]["sha256"] = pin[0]["sha256"][:63]

    with pytest.raises(PackagingRefused, match=r"PIN: SHA-256 of m\.gguf is .*63 characters"):
        read_settings(environment | {"PIN": json.dumps(pin)})


def test_a_model_name_that_is_no_key_is_refused(environment: dict[str, str]) -> None:
    with pytest.raises(PackagingRefused, match=r"MODEL_NAME: model name '\.\./x'"):
        read_settings(environment | {"MODEL_NAME": "../x"})
