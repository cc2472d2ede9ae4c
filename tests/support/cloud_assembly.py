"""Small cloud assemblies, in the form in which `cdk synth` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from decision_client.assembly import Stack, read_assembly

ACCOUNT = "123456789012"
REGION = "us-east-1"
DIGEST = f"sha256:{'1f19c220' * 8}"
IMAGE = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/decision-adapter@{DIGEST}"
AMI = "al2023-ami-sagemaker-inference-gpu-4-1"
_ROLE = "arn:${AWS::Partition}:iam::123456789012:role/cdk-hnb659fds-"


def write_assembly(
    folder: Path,
    resources: dict[str, Any],
    *,
    environment: str = f"aws://{ACCOUNT}/{REGION}",
    parameter: str | None = "/cdk-bootstrap/hnb659fds/version",
    roles: bool = True,
    assets: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    stage: str = "dev",
    name: str = "Endpoint",
) -> Path:
    """An app of one Stage with one stack, ``dev/Endpoint``; returns its folder."""
    inner = folder / f"assembly-{stage}"
    inner.mkdir(parents=True, exist_ok=True)
    bootstrap = (
        {"bootstrapStackVersionSsmParameter": parameter, "requiresBootstrapStackVersion": 6} if parameter else {}
    )
    properties = {"templateFile": f"{name}.template.json", "stackName": f"{stage}-{name}", **bootstrap}
    if roles:
        properties |= {
            "assumeRoleArn": f"{_ROLE}deploy-role-123456789012-us-east-1",
            "cloudFormationExecutionRoleArn": f"{_ROLE}cfn-exec-role-123456789012-us-east-1",
            "lookupRole": {"arn": f"{_ROLE}lookup-role-123456789012-us-east-1"},
        }
    artifacts = {
        f"{name}.assets": {"type": "cdk:asset-manifest", "properties": {"file": f"{name}.assets.json", **bootstrap}},
        name: {
            "type": "aws:cloudformation:stack",
            "environment": environment,
            "properties": properties,
            "dependencies": [f"{name}.assets"],
            "metadata": metadata or {},
            "displayName": f"{stage}/{name}",
        },
    }
    _write(inner / "manifest.json", {"version": "55.0.0", "artifacts": artifacts})
    _write(inner / f"{name}.template.json", {"Resources": resources})
    _write(inner / f"{name}.assets.json", {"version": "55.0.0", "files": assets or {}, "dockerImages": {}})
    stages = {"type": "cdk:cloud-assembly", "properties": {"directoryName": inner.name, "displayName": stage}}
    _write(folder / "manifest.json", {"version": "55.0.0", "artifacts": {inner.name: stages}})
    return folder


def stacks_of(folder: Path, resources: dict[str, Any], **changes: Any) -> list[Stack]:
    """The stacks of such an assembly."""
    return read_assembly(write_assembly(folder, resources, **changes))


def endpoint(
    *types: str,
    count: int = 1,
    deployment: dict[str, Any] | None = None,
    image: Any = IMAGE,
    ami: str | None = None,
    most: int | None = None,
) -> dict[str, Any]:
    """The resources of an endpoint on one type, or on a pool of several; `most` adds scaling."""
    compute: dict[str, Any] = (
        {"InstanceType": types[0]}
        if len(types) == 1
        else {"InstancePools": [{"InstanceType": name, "Priority": n} for n, name in enumerate(types, start=1)]}
    )
    variant = {"VariantName": "main", "InitialInstanceCount": count, "ModelName": _get("Model", "ModelName"), **compute}
    if ami:
        variant["InferenceAmiVersion"] = ami
    found = {
        "Model": _resource("AWS::SageMaker::Model", PrimaryContainer={"Image": image}),
        "Config": _resource("AWS::SageMaker::EndpointConfig", ProductionVariants=[variant]),
        "Endpoint": _resource(
            "AWS::SageMaker::Endpoint",
            EndpointName="decisions-dev",
            EndpointConfigName=_get("Config", "EndpointConfigName"),
            **({"DeploymentConfig": deployment} if deployment else {}),
        ),
    }
    if most:
        resource_id = {"Fn::Join": ["", ["endpoint/", _get("Endpoint", "EndpointName"), "/variant/main"]]}
        found["Target"] = _resource(
            "AWS::ApplicationAutoScaling::ScalableTarget",
            ServiceNamespace="sagemaker",
            ResourceId=resource_id,
            MaxCapacity=most,
        )
    return found


def build_run(**properties: Any) -> dict[str, Any]:
    """A build of a deploy."""
    return _resource("Custom::BuildRun", **properties)


def _resource(kind: str, **properties: Any) -> dict[str, Any]:
    return {"Type": kind, "Properties": properties}


def _get(logical_id: str, attribute: str) -> dict[str, Any]:
    return {"Fn::GetAtt": [logical_id, attribute]}


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document))
