"""What a deploy of one set of templates over another would do, resource by resource."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from .assembly import Template
from .knowledge import create_only_values, is_stateful

# Why everything in a stack is added.
NEW_STACK = "its stack is new"

_Resources = Mapping[str, Mapping[str, Any]]


class Effect(Enum):
    """What happens to a resource. The two that lose what it holds are named as a pull request names them."""

    DELETED = "Deletes"
    REPLACED = "Replaces"
    UPDATED = "Updates"
    ADDED = "Adds"


@dataclass(frozen=True, slots=True)
class Change:
    """One resource that a deploy would touch. `policy`: whether CloudFormation keeps the old one."""

    stack: str
    logical_id: str
    path: str
    kind: str
    effect: Effect
    why: str
    policy: str
    loosened: str = ""

    @property
    def declaration(self) -> str:
        """The line by which a pull request says that it means it."""
        return f"{self.effect.value}: {self.stack}/{self.logical_id}"

    @property
    def loses_state(self) -> bool:
        """Whether something that is stateful would be deleted or replaced."""
        return is_stateful(self.kind) and self.effect in (Effect.DELETED, Effect.REPLACED)


def changes(base: Sequence[Template], head: Sequence[Template]) -> list[Change]:
    """Every resource that differs, stack by stack; another logical id is a deletion and an addition."""
    before = {template.stack: template for template in base}
    after = {template.stack: template for template in head}
    return [
        change
        for stack in sorted(before.keys() | after.keys())
        for change in _of_stack(stack, before.get(stack), after.get(stack))
    ]


def _of_stack(stack: str, base: Template | None, head: Template | None) -> Iterator[Change]:
    old: _Resources = base.resources if base else {}
    new: _Resources = head.resources if head else {}
    template = head or base
    if template is None:
        return
    replaced = _replaced(old, new, template.region)
    for logical_id in sorted(old.keys() | new.keys()):
        was, becomes = old.get(logical_id), new.get(logical_id)
        if was == becomes:
            # Its text is the same, but what it refers to is another one.
            if logical_id not in replaced:
                continue
            effect, why = Effect.REPLACED, replaced[logical_id]
        elif was is None:
            effect, why = Effect.ADDED, "" if base else NEW_STACK
        elif becomes is None:
            effect, why = Effect.DELETED, "" if head else "its stack is gone"
        elif logical_id in replaced:
            effect, why = Effect.REPLACED, replaced[logical_id]
        else:
            effect, why = Effect.UPDATED, ", ".join(_differing(was, becomes))
        owner = base if becomes is None and base else template
        yield Change(
            stack=stack,
            logical_id=logical_id,
            path=owner.construct_paths.get(logical_id, logical_id),
            kind=(becomes or was or {})["Type"],
            effect=effect,
            why=why,
            policy=_policy(was or {}, effect),
            loosened=_loosened(was or {}, becomes) if becomes is not None else "",
        )


def _replaced(old: _Resources, new: _Resources, region: str) -> dict[str, str]:
    """Each resource that CloudFormation would make anew, and why."""
    kept = old.keys() & new.keys()
    why = {id: text for id in kept if (text := _why_replaced(old[id], new[id], region))}
    while True:
        follows = {
            id: f"{name} refers to {', '.join(sorted(others))}, which is replaced"
            for id in kept - why.keys()
            for name, value in _create_only(new[id], region).items()
            if (others := _references(value) & why.keys())
        }
        if not follows:
            return why
        why |= follows


def _why_replaced(was: Mapping[str, Any], becomes: Mapping[str, Any], region: str) -> str:
    if was["Type"] != becomes["Type"]:
        return f"its type was {was['Type']}"
    before, after = _create_only(was, region), _create_only(becomes, region)
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    # The whole property says it; its parts need not be named too.
    outer = [name for name in names if not any(name.startswith(f"{other}.") for other in names)]
    return f"{', '.join(outer)} cannot be changed in place" if outer else ""


def _create_only(resource: Mapping[str, Any], region: str) -> dict[str, object]:
    return create_only_values(resource["Type"], region, resource.get("Properties", {}))


def _references(value: object) -> set[str]:
    """The logical ids that a value refers to."""
    if isinstance(value, list):
        return {id for item in value for id in _references(item)}
    if not isinstance(value, dict):
        return set()
    found = {id for item in value.values() for id in _references(item)}
    match value:
        case {"Ref": str(id)}:
            return found | {id}
        case {"Fn::GetAtt": [str(id), *_]}:
            return found | {id}
        case {"Fn::Sub": str(text) | [str(text), *_]}:
            return found | set(re.findall(r"\$\{([A-Za-z0-9]+)", text))
        case _:
            return found


def _differing(was: Mapping[str, Any], becomes: Mapping[str, Any]) -> list[str]:
    """The properties and attributes that are not the same, by name."""
    names = []
    for key in sorted(was.keys() | becomes.keys()):
        if was.get(key) == becomes.get(key):
            continue
        if key == "Properties":
            before, after = was.get(key, {}), becomes.get(key, {})
            names += [name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)]
        else:
            names.append(key)
    return names


def _policy(was: Mapping[str, Any], effect: Effect) -> str:
    attribute = {Effect.DELETED: "DeletionPolicy", Effect.REPLACED: "UpdateReplacePolicy"}.get(effect)
    if attribute is None:
        return ""
    # A bucket with content cannot be deleted; what CloudFormation tries is still to delete it.
    kept = str(was.get(attribute, "Delete")).startswith(("Retain", "Snapshot"))
    return "stays in the account, no longer managed" if kept else "is deleted with what it holds"


def _loosened(was: Mapping[str, Any], becomes: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{attribute} was {was[attribute]}, becomes {becomes.get(attribute, 'Delete')}"
        for attribute in ("DeletionPolicy", "UpdateReplacePolicy")
        if str(was.get(attribute, "")).startswith("Retain")
        and not str(becomes.get(attribute, "Delete")).startswith("Retain")
    )
