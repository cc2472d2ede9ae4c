"""The seams of ministack that services hook into: the typed door to its untyped, private functions.

A module whose subject is one of ministack's own services (`codebuild`, `cloudwatch`, `ecr_images`, `function_logs`,
`s3_encryption`, `log_streams`, `custom_resources`, `rollbacks`, `stack_events`) imports that service beside it.
A service registers its API with `register_api` and its CloudFormation types with `register_resource`. All stores of
ministack are scoped by the account and region of the current request, which are context variables: start threads with
`in_background`, which carries them over.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ministack import app as gateway  # type: ignore[import-untyped]
from ministack.core import concurrency, responses, router  # type: ignore[import-untyped]
from ministack.services.cloudformation import provisioners, stacks  # type: ignore[import-untyped]

Response = tuple[int, dict[str, str], bytes]
"""Status, headers, body."""

Handler = Callable[[str, str, dict[str, str], bytes, dict[str, Any]], Awaitable[Response]]
"""`(method, path, headers, body, query_parameters)`, run on the event loop; see `off_the_loop`."""

Properties = dict[str, Any]
Attributes = dict[str, Any]
Result = TypeVar("Result")


def account_id() -> str:
    """The account of the current request, twelve digits."""
    return cast(str, responses.get_account_id())


def region() -> str:
    """The region of the current request."""
    return cast(str, responses.get_region())


def json_answer(content: Mapping[str, Any], status: int = 200) -> Response:
    """A success of a JSON protocol."""
    return cast(Response, responses.json_response(dict(content), status))


def json_refusal(code: str, message: str, status: int = 400) -> Response:
    """A failure of a JSON protocol, as SDKs expect it."""
    return cast(Response, responses.error_response_json(code, message, status))


async def off_the_loop(function: Callable[..., Result], *arguments: object, thread_name: str) -> Result:
    """Run blocking work in a thread of its own, with the context of this request: it may call the emulator back."""
    return cast(Result, await concurrency.run_reentrant(function, *arguments, thread_name=thread_name))


def in_background(function: Callable[[], object], *, name: str) -> threading.Thread:
    """Start a daemon thread in the account and region of the current request."""
    thread = threading.Thread(target=contextvars.copy_context().run, args=(function,), daemon=True, name=name)
    thread.start()
    return thread


def register_api(service: str, *, target_prefix: str, credential_scope: str, handler: Handler) -> None:
    """Answer requests whose `X-Amz-Target` starts with `target_prefix`, or that are signed for `credential_scope`."""
    router.SERVICE_PATTERNS[service] = {
        "target_prefixes": [target_prefix],
        "host_patterns": [],
        "credential_scope": credential_scope,
    }
    gateway.SERVICE_HANDLERS[service] = handler


@dataclass(frozen=True)
class ResourceType:
    """How CloudFormation provisions one type. A handler that raises fails the resource, with the text as its reason.

    `create(logical_id, properties, stack_name)` returns the physical id and the attributes for `Fn::GetAtt`. When it
    raises, it must leave nothing behind: nobody calls `delete` for a resource that was never created.
    `update(physical_id, old, new, stack_name)` returns the same; another physical id means a replacement, and the old
    one is deleted later. A rollback calls it with the old properties as `new`.
    `delete(physical_id, properties)` succeeds for what is not there.
    """

    create: Callable[[str, Properties, str], tuple[str, Attributes]]
    update: Callable[[str, Properties, Properties, str], tuple[str, Attributes]]
    delete: Callable[[str, Properties], None]


def register_resource(name: str, resource_type: ResourceType, *, waits: bool = False) -> None:
    """Provision a CloudFormation type. `waits`: its handlers block, so they run in a thread and not on the loop."""
    provisioners._RESOURCE_HANDLERS[name] = {
        "create": resource_type.create,
        "update": resource_type.update,
        "delete": resource_type.delete,
    }
    if waits:
        waits_already = stacks._runs_on_worker_thread
        stacks._runs_on_worker_thread = lambda other: other == name or waits_already(other)


def replace_resource(name: str, *, changed: Collection[str], name_property: str) -> None:
    """Let the engine replace a resource of a registered type when one of the properties in `changed` changes.

    It makes the new one first and deletes the old one in the clean-up, refuses to replace one whose `name_property` is
    fixed, and adds the stack's tags to `Tags`, all in CloudFormation's own words.
    """
    provisioners._REPLACING_PROPERTIES[name] = tuple(changed)
    provisioners._CUSTOM_NAME_REPLACEMENT[name] = {"name": name_property}
    provisioners._STACK_TAG_PROPERTY[name] = ("Tags", "list")


def generated_name(stack_name: str, logical_id: str, *, longest: int) -> str:
    """The name that CloudFormation makes up for a resource whose template gives none."""
    return cast(str, provisioners._physical_name(stack_name, logical_id, max_len=longest))


def resource_types() -> frozenset[str]:
    """The CloudFormation types that can be provisioned."""
    return frozenset(provisioners._RESOURCE_HANDLERS)


def on_reset(reset: Callable[[], None]) -> None:
    """Call `reset` when the emulator's state is cleared (`POST /_ministack/reset`)."""
    clear_the_rest = gateway._reset_all_state

    def clear_everything() -> None:
        reset()
        clear_the_rest()

    gateway._reset_all_state = clear_everything


def keep_content_type(marking_header: str) -> None:
    """Keep the content type of answers with this header, which the emulator would replace by the service's own."""
    correct = gateway.fix_success_content_type

    def correct_unless_marked(service: str, status: int, headers: dict[str, str]) -> None:
        if marking_header not in headers:
            correct(service, status, headers)

    gateway.fix_success_content_type = correct_unless_marked


def ignore_start_scripts() -> None:
    """Run no script that this machine keeps for a LocalStack container (`/etc/localstack/init` and the like)."""
    gateway._collect_scripts = lambda *folders: []


def before_provisioning(check: Callable[[str, Properties], None]) -> None:
    """Call `check(resource_type, properties)` before a resource is created or updated; it raises what is wrong."""
    provision, update = stacks._provision_resource, stacks._update_resource

    def checked_provision(resource_type: str, logical_id: str, properties: Properties, stack_name: str) -> object:
        check(resource_type, properties)
        return provision(resource_type, logical_id, properties, stack_name)

    def checked_update(
        resource_type: str, physical_id: str, old: Properties, new: Properties, *others: object
    ) -> object:
        check(resource_type, new)
        return update(resource_type, physical_id, old, new, *others)

    stacks._provision_resource = checked_provision
    stacks._update_resource = checked_update
