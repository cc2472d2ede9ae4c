"""A template's value becomes the text that it will be, or says which part is not known yet."""

from __future__ import annotations

from typing import Any

import pytest

from decision_client.template_values import Reference, Unresolved, references, resolve

KNOWN = {
    Reference("AWS::Region"): "us-east-1",
    Reference("Repository", "Arn"): "arn:aws:ecr:eu-west-1:210987654321:repository/adapter",
    Reference("dev-Artifacts:Bucket", is_import=True): "models",
}


def lookup(reference: Reference) -> str:
    if reference not in KNOWN:
        raise Unresolved(f"{reference} is not known")
    return KNOWN[reference]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (7, "7"),
        (True, "true"),
        ({"Fn::ImportValue": "dev-Artifacts:Bucket"}, "models"),
        ({"Fn::Join": ["/", ["a", {"Ref": "AWS::Region"}]]}, "a/us-east-1"),
        ({"Fn::Select": [3, {"Fn::Split": [":", {"Fn::GetAtt": ["Repository", "Arn"]}]}]}, "eu-west-1"),
        ({"Fn::Select": ["1", ["a", "b"]]}, "b"),
        ({"Fn::Sub": "x-${AWS::Region}-${!kept}"}, "x-us-east-1-${kept}"),
        (
            {"Fn::Sub": ["${own}/${Repository.Arn}", {"own": {"Ref": "AWS::Region"}}]},
            f"us-east-1/{KNOWN[Reference('Repository', 'Arn')]}",
        ),
    ],
)
def test_a_value_becomes_its_text(value: Any, text: str) -> None:
    assert resolve(value, lookup) == text


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ({"Fn::If": ["Prod", "a", "b"]}, "Fn::If"),
        ({"Fn::Join": ["", [{"Ref": "Unknown"}]]}, "Unknown is not known"),
        ({"Fn::Select": [9, ["a"]]}, "Fn::Select"),
        ({"a": 1, "b": 2}, "is no text"),
        (None, "is no text"),
    ],
)
def test_what_is_not_known_is_named(value: Any, what: str) -> None:
    with pytest.raises(Unresolved, match=what):
        resolve(value, lookup)


def test_references_are_found_at_any_depth() -> None:
    value = {"Fn::Join": ["", [{"Fn::Sub": "${Build.Digest}@"}, {"Fn::Select": [0, [{"Ref": "Bucket"}]]}]]}

    assert set(references(value)) == {Reference("Build", "Digest"), Reference("Bucket")}
