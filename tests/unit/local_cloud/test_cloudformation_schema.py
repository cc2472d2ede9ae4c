"""The schema behind the check of property names."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from local_cloud.cloudformation_schema import Schema, Shape, load

BUCKET_RULES = {"Rules": Shape("array", (Shape("ref", type_id="rule"),)), "Tags": Shape("map", (Shape("json"),))}


@pytest.fixture
def schema() -> Schema:
    either = Shape("union", (Shape("ref", type_id="rule"), Shape("ref", type_id="other")))
    return Schema({"Bucket": {**BUCKET_RULES, "Either": either}}, {"rule": {"Status": Shape("string")}, "other": {}})


def test_a_typo_in_a_list_is_found_at_its_place(schema: Schema) -> None:
    problems = schema.unknown_properties("Bucket", {"Rules": [{"Status": "on"}, {"Statsu": "on"}]})

    assert problems == ["#/Rules/1: extraneous key [Statsu] is not permitted, did you mean Status?"]


def test_free_form_values_and_unknown_types_are_not_judged(schema: Schema) -> None:
    assert schema.unknown_properties("Bucket", {"Tags": {"any": {"thing": 1}}}) == []
    assert schema.unknown_properties("Unheard::Of", {"any": "thing"}) == []


def test_one_fitting_alternative_is_enough(schema: Schema) -> None:
    assert schema.unknown_properties("Bucket", {"Either": {"Status": "on"}}) == []


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    database = tmp_path / "db.json.gz"
    database.write_bytes(gzip.compress(json.dumps({"schema": {}}).encode()))

    with pytest.raises(ValueError, match="is not the service database of a CDK CLI: it lacks 'resource'"):
        load(database, ["AWS::S3::Bucket"])
