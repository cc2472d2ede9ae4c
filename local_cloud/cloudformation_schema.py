"""The property names of CloudFormation's resource types, from the database that the CDK CLI ships for `cdk diff`.

The emulator drops a property that it does not know, where CloudFormation refuses it: a typo would deploy here and fail
on AWS. `db.json.gz` of the npm package `aws-cdk` holds the schema of every type and needs no network.
"""

from __future__ import annotations

import difflib
import gzip
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATABASE = Path("node_modules/aws-cdk/db.json.gz")

Names = Mapping[str, "Shape"]
"""What an object may hold: its properties and the shape of each."""


@dataclass(frozen=True, slots=True)
class Shape:
    """As much of a property's type as names need: the objects it may be, and whether these are in a list or a map."""

    kind: str
    inner: tuple[Shape, ...] = ()
    type_id: str = ""


@dataclass(frozen=True)
class Schema:
    """The objects of all types (`type_id`: names) and of all resources (type name: names)."""

    resources: Mapping[str, Names]
    types: Mapping[str, Names]

    def unknown_properties(self, resource_type: str, properties: Mapping[str, Any]) -> list[str]:
        """One sentence for each property, at any depth, that the type does not have; none for an unknown type.

        Examples
        --------
        >>> names = {"BucketName": Shape("string")}
        >>> Schema({"AWS::S3::Bucket": names}, {}).unknown_properties("AWS::S3::Bucket", {"BuckettName": "b"})
        ['#: extraneous key [BuckettName] is not permitted, did you mean BucketName?']
        """
        names = self.resources.get(resource_type)
        return [] if names is None else list(self._unknown_keys("#", properties, names))

    def _unknown_keys(self, path: str, value: Mapping[str, Any], names: Names) -> Iterator[str]:
        for key, member in value.items():
            if key in names:
                yield from self._unknown_in(f"{path}/{key}", member, names[key])
            else:
                near = difflib.get_close_matches(key, names, n=1)
                hint = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(sorted(names))}"
                yield f"{path}: extraneous key [{key}] is not permitted, {hint}"

    def _unknown_in(self, path: str, value: Any, shape: Shape) -> Iterator[str]:
        if shape.kind == "union":
            found = [list(self._unknown_in(path, value, alternative)) for alternative in shape.inner]
            yield from min(found, key=len)
        elif shape.kind == "array" and isinstance(value, list):
            for index, item in enumerate(value):
                yield from self._unknown_in(f"{path}/{index}", item, shape.inner[0])
        elif shape.kind == "map" and isinstance(value, Mapping):
            for key, item in value.items():
                yield from self._unknown_in(f"{path}/{key}", item, shape.inner[0])
        elif shape.kind == "ref" and isinstance(value, Mapping) and shape.type_id in self.types:
            yield from self._unknown_keys(path, value, self.types[shape.type_id])


def load(database: Path, resource_types: Collection[str]) -> Schema:
    """Read some types of the database (2.7 MB packed; about a second). A type that it lacks is left out.

    Raises
    ------
    OSError
        If it is not there.
    ValueError
        If it is no such database.
    """
    with gzip.open(database) as packed:
        content = json.load(packed, object_hook=_without_documentation)
    try:
        entities = {kind: content["schema"][kind]["entities"] for kind in ("resource", "typeDefinition")}
        resources = {
            entity["cloudFormationType"]: _names(entity)
            for entity in entities["resource"]
            if entity["cloudFormationType"] in resource_types
        }
        definitions = {entity["$id"]: entity for entity in entities["typeDefinition"]}
        return Schema(resources, _reachable_types(resources.values(), definitions))
    except (KeyError, TypeError) as error:
        raise ValueError(f"{database} is not the service database of a CDK CLI: it lacks {error}") from error


def _without_documentation(entity: dict[str, Any]) -> dict[str, Any]:
    """Most of the database is prose, which would stay in memory long after it is dropped."""
    entity.pop("documentation", None)
    return entity


def _reachable_types(roots: Iterable[Names], definitions: Mapping[str, Mapping[str, Any]]) -> dict[str, Names]:
    types: dict[str, Names] = {}
    waiting = [shape for names in roots for shape in names.values()]
    while waiting:
        shape = waiting.pop()
        waiting.extend(shape.inner)
        if shape.type_id and shape.type_id not in types:
            types[shape.type_id] = _names(definitions[shape.type_id])
            waiting.extend(types[shape.type_id].values())
    return types


def _names(entity: Mapping[str, Any]) -> dict[str, Shape]:
    return {name: _shape(definition["type"]) for name, definition in entity["properties"].items()}


_LEAVES: dict[str, Shape] = {}


def _shape(definition: Mapping[str, Any]) -> Shape:
    kind: str = definition["type"]
    if kind == "ref":
        return Shape(kind, type_id=definition["reference"]["$ref"])
    if kind in ("array", "map"):
        return Shape(kind, (_shape(definition["element"]),))
    if kind == "union":
        return Shape(kind, tuple(_shape(alternative) for alternative in definition["types"]))
    return _LEAVES.setdefault(kind, Shape(kind))
