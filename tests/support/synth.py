"""Stacks and sources for tests that look at templates."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from aws_cdk import App, Environment, Stack
from aws_cdk.assertions import Template

from decision_endpoints import (
    ArtifactStore,
    ChatEndpoint,
    CheckoutImage,
    CpuInstance,
    DecisionEndpoint,
    DlcImage,
    EndpointLogs,
    LocalGguf,
    ModelPackage,
    PackagedModel,
)
from decision_provenance.digest import hash_file
from decision_provenance.gguf import GgufFacts

ROOT = Path(__file__).resolve().parents[2]
ACCOUNT = "123456789012"
REGION = "us-east-1"
FACTS = GgufFacts(version=3, architecture="llama", context_length=2048, parameter_count=1000, tensor_count=3)
DLC_IMAGE = DlcImage("cpu", digest=f"sha256:{'1f19c220' * 8}")
IMAGE = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/decision-adapter@sha256:{'13c16f42' * 8}"


def new_app() -> App:
    """An app with the context of cdk.json, as the CLI starts it."""
    return App(context=json.loads((ROOT / "cdk.json").read_text())["context"])


def new_stack(name: str = "Stack", *, app: App | None = None) -> Stack:
    """A stack of one account and region, in an app of its own or the given one."""
    return Stack(app or new_app(), name, env=Environment(account=ACCOUNT, region=REGION))


def source(folder: Path, content: bytes = b"GGUF of a test", **changes: Any) -> LocalGguf:
    """The pin of a file with this content in `folder`."""
    path = folder / "tiny.gguf"
    path.write_bytes(content)
    digest = hash_file(path)
    pin: dict[str, Any] = {"path": path, "name": "tiny", "sha256": digest.sha256, "bytes": digest.bytes, "facts": FACTS}
    return LocalGguf(**(pin | changes))


def packaged_model(stack: Stack, model_source: LocalGguf) -> PackagedModel:
    """A model that is packaged and verified in this stack."""
    store = ArtifactStore(stack, "Store")
    return PackagedModel(stack, "Model", package=ModelPackage(stack, "Package", source=model_source, store=store))


def endpoint(stack: Stack, model_source: LocalGguf, **settings: Any) -> DecisionEndpoint:
    """Everything an endpoint needs, and the endpoint, in one stack."""
    defaults: dict[str, Any] = {
        "model": settings.get("model") or packaged_model(stack, model_source),
        "image": CheckoutImage(),
        "compute": CpuInstance("ml.c6i.xlarge"),
        "logs": EndpointLogs(stack, "Logs", endpoint_name="decisions-test"),
    }
    return DecisionEndpoint(stack, "Endpoint", **(defaults | settings))


def chat_endpoint(stack: Stack, model_source: LocalGguf, **settings: Any) -> ChatEndpoint:
    """Everything a chat endpoint needs, and the endpoint, in one stack."""
    defaults: dict[str, Any] = {
        "model": settings.get("model") or packaged_model(stack, model_source),
        "image": DLC_IMAGE,
        "compute": CpuInstance("ml.c6i.xlarge"),
        "logs": EndpointLogs(stack, "Logs", endpoint_name="chat-test"),
    }
    return ChatEndpoint(stack, "Endpoint", **(defaults | settings))


def resources(template: Template, kind: str) -> list[dict[str, Any]]:
    """Every resource of one type."""
    return [dict(resource) for resource in template.find_resources(kind).values()]
