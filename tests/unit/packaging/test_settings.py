"""A build is told what to package by four variables, and says everything that is wrong with them at once."""

from __future__ import annotations

import json

import pytest

from decision_client.packaging.errors import PackagingRefused
from decision_client.packaging.hub_source import HubCommit, HubSource
from decision_client.packaging.s3_source import LocalSource, S3Source
from decision_client.packaging.settings import read_settings
from decision_client.packaging.source_setting import read_source

REVISION = "4168f45a16a1290d65a4ec0fa312ae917a4c15d6"
HUB = {
    "kind": "huggingface",
    "endpoint": "https://huggingface.co",
    "repository": "owner/model",
    "revision": REVISION,
    "folder": "",
}


def test_the_variables_are_read(environment: dict[str, str]) -> None:
    settings = read_settings(environment)

    assert settings.source == LocalSource("assets", {"m.gguf": "asset.gguf"})
    assert settings.prefix == f"models/tiny/{settings.digest}/"


def test_an_archive_has_a_prefix_of_its_own(environment: dict[str, str]) -> None:
    settings = read_settings(environment | {"ARCHIVE": "true"})

    assert settings.prefix == f"models/tiny/{settings.digest}-tar/"
    assert list(settings.stored_bytes) == ["model.tar.gz"]


def test_an_archive_needs_room_for_the_largest_file_as_well(environment: dict[str, str]) -> None:
    pin = [{"name": f"m-0000{number}-of-00002.gguf", "sha256": "ab" * 32, "bytes": number << 30} for number in (1, 2)]
    pinned = environment | {"PIN": json.dumps(pin)}

    assert read_settings(pinned).disk_bytes == 3 << 30
    assert 5 << 30 < read_settings(pinned | {"ARCHIVE": "true"}).disk_bytes < 5.001 * (1 << 30)


@pytest.mark.parametrize(
    ("document", "source"),
    [
        ({"kind": "s3", "bucket": "b", "prefix": "p/"}, S3Source("b", "p/")),
        (HUB, HubSource("https://huggingface.co", HubCommit("owner/model", REVISION))),
        (
            HUB | {"folder": "Q8_0", "tokenizer": {"repository": "owner/other", "revision": REVISION}},
            HubSource(
                "https://huggingface.co",
                HubCommit("owner/model", REVISION),
                "Q8_0",
                HubCommit("owner/other", REVISION),
            ),
        ),
    ],
)
def test_every_kind_of_source_is_read(document: dict[str, object], source: object) -> None:
    assert read_source(json.dumps(document)) == source


def test_everything_that_is_missing_is_named_at_once() -> None:
    with pytest.raises(PackagingRefused, match="SOURCE is not set; MODEL_NAME is not set; PIN is not set; BUCKET"):
        read_settings({})


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("{", "SOURCE: it is not JSON"),
        ("[]", "with `kind`"),
        ('{"kind": "ftp"}', "its kind is 'ftp', allowed are huggingface, local, s3"),
        ('{"kind": ["s3"]}', "its kind is"),
        ('{"kind": "local", "bucket": "b"}', "the texts bucket and the object of texts keys"),
        ('{"kind": "local", "bucket": "b", "keys": {"m.gguf": 5}}', "the texts bucket and the object of texts keys"),
        ('{"kind": "s3", "bucket": "b", "key": "k"}', "the texts bucket, prefix"),
        (json.dumps(HUB | {"revision": "main"}), "revision is 'main': give the full commit"),
        (json.dumps(HUB | {"endpoint": "http://your-company.test"}), "endpoint is 'http://your-company.test': give"),
        (json.dumps(HUB | {"folder": "../x"}), "folder is '../x'"),
        (json.dumps(HUB | {"tokenizer": {"repository": "owner/other"}}), "the tokenizer of a huggingface source"),
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


def test_an_archive_is_asked_for_or_not(environment: dict[str, str]) -> None:
    with pytest.raises(PackagingRefused, match="ARCHIVE: it is 'yes', allowed are true and false"):
        read_settings(environment | {"ARCHIVE": "yes"})
