"""The template diff as a reviewer reads it: what could lose data first."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from .changes import NEW_STACK, Change, Effect
from .knowledge import is_stateful


def render(found: Sequence[Change], *, against: str, declared: Sequence[str]) -> str:
    """The changes as Markdown. `declared`: the lines by which the pull request says what it means to lose."""
    lines = [f"## Templates against {against}", ""]
    losses = [change for change in found if change.loses_state]
    undeclared = undeclared_losses(found, declared)
    if not found:
        return "\n".join([*lines, "No template changes.", ""])
    if losses:
        lines += ["### Stateful resources that would be deleted or replaced", "", *_table(losses), ""]
    if undeclared:
        lines += [
            "**This fails the gate.** If it is meant, say so in the pull request's description or in one of its commit "
            "messages, each on a line of its own, exactly:",
            "",
            "```",
            *(change.declaration for change in undeclared),
            "```",
            "",
        ]
    if idle := sorted(set(declared) - {change.declaration for change in losses}):
        lines += ["Said, but nothing of the kind happens: " + ", ".join(f"`{line}`" for line in idle) + ".", ""]
    loosened = [change for change in found if change.loosened and is_stateful(change.kind)]
    if loosened:
        lines += ["### Stateful resources that would no longer be kept", "", *_loosened_table(loosened), ""]
    for title, effect in (("Replaced", Effect.REPLACED), ("Deleted", Effect.DELETED)):
        others = [change for change in found if change.effect is effect and not change.loses_state]
        if others:
            lines += [f"### {title}", "", *_table(others), ""]
    for title, effect in (("Changed", Effect.UPDATED), ("Added", Effect.ADDED)):
        some = [change for change in found if change.effect is effect]
        if some:
            lines += [f"### {title}", "", *_by_stack(some)]
    return "\n".join(lines)


def undeclared_losses(found: Sequence[Change], declared: Sequence[str]) -> list[Change]:
    """What would lose state without the pull request saying so."""
    return [change for change in found if change.loses_state and change.declaration not in declared]


def _table(changes: Sequence[Change]) -> list[str]:
    rows = [
        f"| {change.stack} | {change.path} (`{change.logical_id}`) | {change.kind} | {change.effect.name.lower()}"
        f"{': ' + change.why if change.why else ''} | {change.policy} |"
        for change in changes
    ]
    return ["| stack | resource | type | what | the old one |", "|---|---|---|---|---|", *rows]


def _loosened_table(changes: Sequence[Change]) -> list[str]:
    rows = [f"| {change.stack} | {change.path} | {change.loosened} |" for change in changes]
    return ["| stack | resource | what |", "|---|---|---|", *rows]


def _by_stack(changes: Sequence[Change]) -> list[str]:
    """One line for each stack, folded: additions and changes in place are many and seldom what a review is about."""
    lines = []
    for stack, of_one in groupby(changes, key=lambda change: change.stack):
        some = list(of_one)
        if all(change.why == NEW_STACK for change in some):
            lines += [f"{stack}: a new stack with {len(some)} resources.", ""]
            continue
        lines += [f"<details><summary>{stack}: {len(some)}</summary>", ""]
        lines += [f"- {change.path} ({change.kind}){': ' + change.why if change.why else ''}" for change in some]
        lines += ["", "</details>", ""]
    return lines
