"""A custom resource that an update replaced is called again when the update rolls back, as CloudFormation does.

It gets an Update with the old properties and the new physical id, and a Delete for what it then no longer is. The
emulator only deletes the new one, so that a roll-back would seem to need nothing of the resource's Lambda.
"""

from __future__ import annotations

import contextvars
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ministack.core import concurrency  # type: ignore[import-untyped]
from ministack.services.cloudformation import provisioners, stacks  # type: ignore[import-untyped]

Record = dict[str, Any]

# The physical ids that the update gave, by logical id, while an update is rolled back.
_given: contextvars.ContextVar[Mapping[str, str]] = contextvars.ContextVar("given_by_the_update")


def install() -> None:
    """Send replaced custom resources back instead of deleting them."""
    roll_back, revert = stacks._roll_back_operation, stacks._revert_update

    async def roll_back_replaced(
        stack_name: str, stack_id: str, stack: Record, operation: Record, *others: object
    ) -> None:
        given = _replaced(stack, operation)
        for logical_id in given:
            # Under the physical id it had before, it counts as updated in place, and is reverted.
            before = operation["previous_stack"]["_resources"][logical_id]["PhysicalResourceId"]
            record = stack["_resources"][logical_id]
            stack["_resources"][logical_id] = {**record, "PhysicalResourceId": before}
        replaced = [each for each in operation.get("replaced_ids", []) if each not in given]
        calling = _given.set(given)
        try:
            await roll_back(stack_name, stack_id, stack, {**operation, "replaced_ids": replaced}, *others)
        finally:
            _given.reset(calling)

    async def revert_and_delete(*arguments: Any) -> None:
        await _revert(revert, *arguments)

    stacks._roll_back_operation = roll_back_replaced
    stacks._revert_update = revert_and_delete


async def _revert(
    revert: Callable[..., Awaitable[None]],
    stack_id: str,
    stack_name: str,
    logical_id: str,
    resource_type: str,
    physical_id: str,
    applied: Record,
    previous: Record,
    attributes: Record,
    record: Record | None = None,
) -> None:
    given = _given.get({}).get(logical_id)
    if given is None:
        await revert(
            stack_id, stack_name, logical_id, resource_type, physical_id, applied, previous, attributes, record
        )
        return
    await revert(stack_id, stack_name, logical_id, resource_type, given, applied, previous, attributes, record)
    if record is not None and record["PhysicalResourceId"] != given:
        stacks._add_event(stack_id, stack_name, logical_id, resource_type, "DELETE_IN_PROGRESS", physical_id=given)
        await concurrency.run_reentrant(
            provisioners._delete_resource, resource_type, given, applied, stack_name, logical_id
        )
        stacks._add_event(stack_id, stack_name, logical_id, resource_type, "DELETE_COMPLETE", physical_id=given)


def _replaced(stack: Record, operation: Record) -> dict[str, str]:
    """The custom resources whose physical id the failed update changed, with the id it gave them."""
    previous = (operation.get("previous_stack") or {}).get("_resources", {})
    given = {}
    for logical_id in operation.get("created", []):
        record, before = stack.get("_resources", {}).get(logical_id, {}), previous.get(logical_id)
        if not before or not _is_custom(record.get("ResourceType", "")):
            continue
        if before["PhysicalResourceId"] != record["PhysicalResourceId"]:
            given[logical_id] = record["PhysicalResourceId"]
    return given


def _is_custom(resource_type: str) -> bool:
    return resource_type.startswith("Custom::") or resource_type == "AWS::CloudFormation::CustomResource"
